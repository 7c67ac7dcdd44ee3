import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Whoever was let in just before the port closed has so long to begin to speak. */
const silenceMs = 1000

/**
 * Closing the server drains it. First the readiness turns, and each answer asks its connection to end: whoever shares out requests
 * has the time of the grace to go elsewhere. Then listening stops; what is under way is answered, idle connections end.
 */
export const drainOnClose = (app: FastifyInstance, grace_seconds: number) => {
  let isDraining = false
  let sweep: NodeJS.Timeout | undefined
  const grace = Promise.withResolvers<void>()
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  // Node closes neither connections whose last answer began before the drain, nor those that have said nothing yet.
  const endIdle = (until: number) => {
    app.server.closeIdleConnections()
    if (performance.now() > until) for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }

  // The framework itself lets every answer end its connection from here on.
  app.addHook('preClose', async () => {
    isDraining = true
    const timer = setTimeout(grace.resolve, grace_seconds * 1000)
    await grace.promise
    clearTimeout(timer)
    sweep = setInterval(endIdle, 100, performance.now() + silenceMs)
  })
  app.server.once('close', () => clearInterval(sweep))

  return {
    isDraining: () => isDraining,
    /** Ends what is left of the grace. Requests under way are still answered: their time is bounded anyhow. */
    hurry: () => grace.resolve(),
  }
}
