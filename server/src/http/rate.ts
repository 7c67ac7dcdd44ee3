import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Database } from '../db/database.ts'
import { Problem } from '../kernel/problem.ts'
import { readPolicy } from '../policies/read-policy.ts'
import type { Actor } from '../work/work.ts'

/** Under which name a caller's requests are counted; no type of actor has a space in it. */
export const rateKey = (actor: Actor | null, ip: string): string => (actor ? `${actor.type} ${actor.id}` : `address ${ip}`)

const policyFor = (actor: Actor | null) => {
  if (!actor) return 'rate_limit.anonymous_requests_per_minute'
  return actor.type === 'user' ? 'rate_limit.api_requests_per_minute' : 'rate_limit.machine_requests_per_minute'
}

/** Counts a request against its caller's limit, which is policy and read anew each time; throws where it is exceeded. */
export const requestCounter = (app: FastifyInstance, { reader }: Pick<Database, 'reader'>) => {
  const count = app.createRateLimit({
    timeWindow: 60_000,
    max: (request) => readPolicy(reader, policyFor(request.actor)),
    keyGenerator: (request) => rateKey(request.actor, request.ip),
  })
  return async (request: FastifyRequest): Promise<void> => {
    const rate = await count(request)
    if (!rate.isAllowed && rate.isExceeded)
      throw new Problem('rate_limit_exceeded', { retry_after_seconds: Math.max(1, rate.ttlInSeconds) })
  }
}
