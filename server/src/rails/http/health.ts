import type { FastifyInstance } from 'fastify'

export interface HealthParts {
  readonly database: { ping(): Promise<boolean> }
  /** Decisions have a pool of their own, which may reach another server. */
  readonly fresh: { isReady(): Promise<boolean> }
  /** Whether tokens can be judged now: the keys of every issuer are at hand. */
  readonly identityReady?: () => boolean
  readonly isDraining: () => boolean
}

const patienceMs = 1000

/** However many ask at once, one question is under way. */
const askedOnce = (ask: () => Promise<boolean>) => {
  let running: Promise<boolean> | undefined
  return (): Promise<boolean> => {
    running ??= ask().finally(() => {
      running = undefined
    })
    return running
  }
}

const withinPatience = (answer: Promise<boolean>): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(resolve, patienceMs, false)
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer))
}

/** For the machines that watch: no operation, no actor, no record. */
export const serveHealth = (app: FastifyInstance, { database, fresh, identityReady, isDraining }: HealthParts): void => {
  // One after the other: a proof is judged by what the other pool has just seen.
  const ping = askedOnce(async () => (await database.ping()) && (await fresh.isReady()))
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const well = (is: boolean) => (is ? 'ok' : 'unavailable')
    const hasDatabase = await withinPatience(ping())
    const hasKeys = identityReady?.() ?? true
    const isReady = hasDatabase && hasKeys && !isDraining()
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'unready',
      database: well(hasDatabase),
      identity_keys: well(hasKeys),
      is_draining: isDraining(),
    })
  })
}
