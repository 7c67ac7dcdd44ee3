import type { FastifyRequest } from 'fastify'
import { networkOf } from '#ground/kernel/networks.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import type { Actor } from '#ground/work/work.ts'
import type { ActorClasses } from '../authz/actor-class.ts'
import { policyIn, readPolicyFresh, wantPolicy } from '../policies/read-policy.ts'
import type { StrangerCost } from './stranger-cost.ts'

/**
 * What is counted together: a caller's decisions apart from the rest, which would drown in them; and what anybody may read, keys above all,
 * apart from what is refused, so that whoever guesses secrets behind an address takes nothing from those who verify tokens there. What a
 * machine asks with its own credential is apart from what is asked with its tokens: whoever has got hold of one keeps nobody from the next.
 */
const countedAs = ({ actor, operation }: FastifyRequest, classes: ActorClasses) => {
  if (!actor) return operation ? 'anonymous' : 'document'
  if (operation?.is_decision) return 'decision'
  if (classes[actor.type].rate === 'api') return 'api'
  return actor.token ? 'machine' : 'credential'
}
type Counted = ReturnType<typeof countedAs>

/** What has the limit of another, and uses up nothing of it. */
const likeness = { document: 'anonymous', credential: 'machine' } as const
type Limited = Exclude<Counted, keyof typeof likeness>

const limitOf = (counted: Counted) => {
  const limited: Limited = counted === 'document' || counted === 'credential' ? likeness[counted] : counted
  return `rate_limit.${limited}_requests_per_minute` as const
}

/** Under which name a caller's requests are counted; no type of actor and no way of counting has a space in it. */
export const rateKey = (counted: Counted, actor: Pick<Actor, 'type' | 'id'> | null, ip: string): string =>
  actor ? `${counted} ${actor.type} ${actor.id}` : `${counted} ${networkOf(ip)}`

/** A caller's minute begins with the first request that none before it covers. */
interface Minute {
  began: number
  requests: number
}
const minuteMs = 60_000
/** So many callers are remembered; who has not asked for longest is forgotten first, and begins anew. */
const mostCallers = 100_000

const exceeded = ({ began }: Minute, now: number) =>
  new Problem('rate_limit_exceeded', { retry_after_seconds: Math.ceil((began + minuteMs - now) / 1000) })

/** Even past the limit of its address a caller with the right secret gets in; nobody needs more than this to show it. */
const smallBytes = 4096

const isSmall = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= smallBytes

export interface Counter {
  /** Counts a request against its caller's limit, which is policy; throws where it is exceeded. */
  readonly count: (request: FastifyRequest) => Promise<void>
  /** Before the body of somebody unknown is read: throws where it is large and the caller's address has used up its limit. Counts nothing. */
  readonly requireWorthReading: (request: FastifyRequest) => Promise<void>
}

export const requestCounter = ({ requestsIn }: Pick<StrangerCost, 'requestsIn'>, classes: ActorClasses): Counter => {
  const minutes = recentlyUsed<Minute>(mostCallers)

  /** An identified caller is limited by requests alone; a stranger pays for the bytes that the server reads, too. */
  const weightOf = (counted: Counted, { reading }: FastifyRequest): number => (counted === 'anonymous' && reading ? requestsIn(reading) : 1)

  const count = async (request: FastifyRequest): Promise<void> => {
    const counted = countedAs(request, classes)
    const limit = limitOf(counted)
    const { values } = await request.fresh.read([wantPolicy(limit)])
    const most = policyIn(limit, values[0])
    const caller = rateKey(counted, request.actor, request.source_ip)
    const weight = weightOf(counted, request)
    const now = performance.now()
    const minute = minutes.get(caller)
    if (!minute || now >= minute.began + minuteMs) {
      minutes.set(caller, { began: now, requests: weight })
      return
    }
    minute.requests += weight
    if (minute.requests > most) throw exceeded(minute, now)
  }

  const requireWorthReading = async (request: FastifyRequest): Promise<void> => {
    if (isSmall(request)) return
    const minute = minutes.get(rateKey('anonymous', null, request.source_ip))
    const now = performance.now()
    if (!minute || now >= minute.began + minuteMs) return
    if (minute.requests >= (await readPolicyFresh(request.fresh, limitOf('anonymous')))) throw exceeded(minute, now)
  }

  return { count, requireWorthReading }
}
