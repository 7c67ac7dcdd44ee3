import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'
import { doorCaller, type Told } from '../enrolled-node.ts'
import { pathOf, sendingOf } from '../fuzz/rightful-calls.ts'
import type { Answered, LiveServer, Sending } from '../live-server.ts'
import { operatorTokenPath } from '../operator-credential.ts'
import { type ActorClass, actorClasses, isOneOf, nodeAgents, type Person } from './actor-classes.ts'
import { type Refusal, refusalOf, rows } from './allowed.ts'
import { type Asked, askedBy, personOf } from './calls.ts'
import { forgetting } from './forgetting.ts'
import { ownRows } from './own-things.ts'
import type { MatrixWorld, OwnThings } from './world.ts'

export interface Cell {
  readonly operation: Operation
  readonly who: ActorClass
}

/** Every operation with everybody who may come. */
export const everyCell: readonly Cell[] = operations.flatMap((operation) => actorClasses.map((who) => ({ operation, who })))

/** What machines show, each its own. */
const bearersOf = async (live: LiveServer, world: MatrixWorld): Promise<Map<ActorClass, string>> => {
  const bearers = new Map<ActorClass, string>()
  const take = async (who: ActorClass, path: string, credential: object) => {
    const { status, text, body } = await live.call(null, 'POST', path, { body: credential })
    if (status !== 200) throw new Error(`${who} gets no token: ${text}`)
    bearers.set(who, body.access_token)
  }
  for (const [who, credential] of world.credentials) await take(who, '/api/v1/auth/service-account/token', credential)
  for (const [who, credential] of world.operators) await take(who, operatorTokenPath, credential)
  return bearers
}

const reasonIn = ({ body }: Answered): string => body?.details?.detail ?? body?.details?.reason_code ?? body?.code ?? body?.error ?? ''
const isAsExpected = (heard: Answered, { status, reason }: Refusal): boolean => {
  const heardReason = reasonIn(heard)
  const isIt = reason === '*_not_found' ? heardReason.endsWith('_not_found') && heardReason !== 'route_not_found' : heardReason === reason
  return heard.status === status && isIt
}

/** Everybody's voice on one server. */
export const speakers = async (live: LiveServer, world: MatrixWorld, changed: (parts: ServerParts) => ServerParts) => {
  const { url, nodes } = await live.replica(changed)
  const bearers = await bearersOf(live, world)
  const { node, other } = world.machines
  const stranger = doorCaller(nodes.url, { ca: node.authority })

  const sendOnce = async (operation: Operation, who: ActorClass, { params, body, query }: Asked, more: Record<string, string>) => {
    const path = `${pathOf(operation.path, params)}${query === undefined ? '' : `?${query}`}`
    const person = personOf(who)
    // A client says in the form who it is; to say it twice is refused.
    const isClient =
      body?.client_id !== undefined || (operation.identified_by === 'credential' && rows[operation.id]?.allowed.includes(who))
    const bearer = isClient ? undefined : person === null ? bearers.get(who) : await live.tokenOf(person)
    const headers: Record<string, string> = { ...more, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) }
    if (isOneOf(nodeAgents, who)) {
      const by = operation.id === 'node.enrol' ? stranger : who === 'node_agent' ? node : other
      return asAnswered(await by.call(operation.method, path, body, more, nodes.url))
    }
    if (operation.listener === 'nodes') return asAnswered(await stranger.call(operation.method, path, body, headers))
    const sending: Sending = sendingOf(operation, body)
    return live.call(null, operation.method, path, { ...sending, headers: { ...sending.headers, ...headers } }, url)
  }
  /** A machine with much else to do may say that it has no time, which is no word on who may. */
  const send = async (operation: Operation, who: ActorClass, asked: Asked, more: Record<string, string> = {}): Promise<Answered> => {
    for (let attempt = 1; ; attempt += 1) {
      const answered = await sendOnce(operation, who, asked, more)
      if (answered.status !== 503 || attempt === 3) return answered
    }
  }
  return { send, stop: () => stranger.stop() }
}
export type Speaking = Awaited<ReturnType<typeof speakers>>

const asAnswered = ({ headers, ...told }: Told): Answered => ({ ...told, headers: new Headers(headers as Record<string, string>) })

/** Asks for real, over HTTP, each cell of the matrix on a server that keeps nothing of it. */
export const walker = async (live: LiveServer, world: MatrixWorld, broken: (parts: ServerParts) => ServerParts = (parts) => parts) => {
  const { send, stop } = await speakers(live, world, (parts) => forgetting(broken(parts)))

  /** What is wrong with the answer, if anything is. Null: he may. */
  const heardWrongly = async (operation: Operation, who: ActorClass, asked: Asked, expected: Refusal | null) => {
    const heard = await send(operation, who, asked)
    const told = `${who} at ${operation.id}: ${heard.status} ${heard.text.slice(0, 300)}`
    if (expected) return isAsExpected(heard, expected) ? undefined : `${told}, and was to be ${expected.status} ${expected.reason}`
    return heard.status === operation.success || heard.status === operation.success_again ? undefined : `${told}, and may`
  }

  const faultOf = async ({ operation, who }: Cell): Promise<string | undefined> => {
    const row = rows[operation.id]
    if (!row) return `${operation.id} has no row in test/matrix/allowed.ts`
    const expected = row.allowed.includes(who) ? null : refusalOf(operation.id, row, who)
    return heardWrongly(operation, who, askedBy(world, operation, who), expected)
  }

  const inOrder = (faults: readonly (string | undefined)[]): string[] => faults.filter((fault) => fault !== undefined).sort()
  return {
    /** The faults of these cells, in the order of their words. */
    walk: async (cells: readonly Cell[]): Promise<string[]> => inOrder(await fewAtOnce(cells, faultOf)),
    /** The same of what is each one's own. */
    walkOwn: async (own: OwnThings): Promise<string[]> => {
      const cells = ownRows.flatMap(({ operation: id, what, allowed, refused, asked }) => {
        const operation = operations.find((each) => each.id === id)!
        const expected = [...allowed.map((who) => [who, null] as const), ...(Object.entries(refused) as [Person, Refusal][])]
        return expected.map(([who, refusal]) => ({ operation, what, who, asked: asked(own, who), refusal }))
      })
      const heard = await fewAtOnce(cells, async ({ operation, what, who, asked, refusal }) => {
        const fault = await heardWrongly(operation, who, asked, refusal)
        return fault === undefined ? undefined : `${what}: ${fault}`
      })
      return inOrder(heard)
    },
    stop,
  }
}

/** Four at a time: the servers have as many connections to spare. */
export const fewAtOnce = async <T, R>(list: readonly T[], work: (each: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  const left = [...list.entries()]
  const one = async () => {
    for (let next = left.shift(); next; next = left.shift()) results[next[0]] = await work(next[1])
  }
  await Promise.all(Array.from({ length: 4 }, one))
  return results
}
