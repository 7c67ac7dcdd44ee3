import type { FastifyInstance } from 'fastify'

/**
 * Closing the server drains it. First the readiness turns, and each answer asks its connection to end: whoever shares out requests
 * has the time of the grace to go elsewhere. Then listening stops; what is under way is answered, idle connections end.
 */
export const drainOnClose = (app: FastifyInstance, grace_seconds: number) => {
  let isDraining = false
  let sweep: NodeJS.Timeout | undefined
  const grace = Promise.withResolvers<void>()

  // The framework itself lets every answer end its connection from here on.
  app.addHook('preClose', async () => {
    isDraining = true
    const timer = setTimeout(grace.resolve, grace_seconds * 1000)
    await grace.promise
    clearTimeout(timer)
    // A connection whose last answer began before the drain would otherwise be waited for until it times out.
    sweep = setInterval(() => app.server.closeIdleConnections(), 100)
  })
  app.server.once('close', () => clearInterval(sweep))

  return {
    isDraining: () => isDraining,
    /** Ends what is left of the grace. Requests under way are still answered: their time is bounded anyhow. */
    hurry: () => grace.resolve(),
  }
}
