import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '../kernel/problem.ts'
import { readPolicyFresh } from '../policies/read-policy.ts'
import type { Actor } from '../work/work.ts'

/** What is counted together: a caller's decisions apart from the rest, which would drown in them. */
const countedAs = ({ actor, routeOptions }: FastifyRequest) => {
  if (!actor) return 'anonymous'
  if (routeOptions.config.operation?.is_decision) return 'decision'
  return actor.type === 'user' ? 'api' : 'machine'
}
type Counted = ReturnType<typeof countedAs>

/** Under which name a caller's requests are counted; no type of actor and no way of counting has a space in it. */
export const rateKey = (counted: Counted, actor: Actor | null, ip: string): string =>
  actor ? `${counted} ${actor.type} ${actor.id}` : `${counted} ${ip}`

/** Counts a request against its caller's limit, which is policy; throws where it is exceeded. */
export const requestCounter = (app: FastifyInstance) => {
  const count = app.createRateLimit({
    timeWindow: 60_000,
    max: (request) => readPolicyFresh(request.fresh, `rate_limit.${countedAs(request)}_requests_per_minute`),
    keyGenerator: (request) => rateKey(countedAs(request), request.actor, request.ip),
  })
  return async (request: FastifyRequest): Promise<void> => {
    const rate = await count(request)
    if (!rate.isAllowed && rate.isExceeded)
      throw new Problem('rate_limit_exceeded', { retry_after_seconds: Math.max(1, rate.ttlInSeconds) })
  }
}
