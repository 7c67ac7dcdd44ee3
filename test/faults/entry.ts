// A server process of its own. It is told what to be by its parent, and ends with it.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { flushCompileCache } from 'node:module'
import { composeServer } from './compose.ts'
import type { Arms, Order, Report, Settings } from './server-process.ts'
import { nameOf, type Point } from './statement-faults.ts'

const report = (message: Report) => process.send?.(message)
const die = () => process.kill(process.pid, 'SIGKILL')
const forever = new Promise<never>(() => {})

/** Which request this is; known wherever its work goes. */
const request = new AsyncLocalStorage<string>()
let arms: Arms = {}
let statements = 0
const there = new Set<string>()
const waiting = new Map<string, () => void>()

/** Whoever is there stays there; when all are, all end together. Those that wait to commit go on first, so that they die in it. */
const meet = () => {
  if (there.size + waiting.size < Object.keys(arms).length) return
  if (waiting.size === 0) die()
  for (const go of waiting.values()) go()
}
const arrive = (id: string): Promise<never> => {
  there.add(id)
  meet()
  return forever
}

const reached = (point: Point): unknown => {
  if (point.at === 'before_transaction') statements = 0
  if ('statement' in point) statements = point.statement
  const id = request.getStore() ?? ''
  const armed = arms[id]
  if (!armed) return
  if (armed.at === 'during_commit' && point.at === 'during_commit') return die()
  if (armed.at === 'during_commit' && point.at === 'before_commit') {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.set(id, resolve)
    meet()
    return promise
  }
  return nameOf(armed) === nameOf(point) ? arrive(id) : undefined
}

/** Half an answer, or all of it, and then nothing more. */
const answerBy = (id: string, response: ServerResponse) => {
  if (arms[id]?.at === 'after_answer') response.on('finish', () => arrive(id))
  if (arms[id]?.at !== 'mid_answer') return
  response.end = (() => {
    const half = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"id":'
    response.socket?.write(half, () => void arrive(id))
    return response
  }) as typeof response.end
}

const follow = (server: Server) => {
  const emit = server.emit.bind(server)
  server.emit = ((name: string, ...given: [IncomingMessage, ServerResponse]) => {
    if (name !== 'request') return emit(name, ...given)
    const id = String(given[0].headers['x-request-id'])
    answerBy(id, given[1])
    return request.run(id, () => emit(name, ...given))
  }) as typeof server.emit
}

const start = async (settings: Settings) => {
  const { server, door: own, listen, listenToNodes } = await composeServer(settings, reached)
  follow(server)
  if (own) follow(own)
  const [port, door] = [await listen(), await listenToNodes()]
  // A process that is killed cannot keep what it compiled; the next one starts faster if this one does it now.
  flushCompileCache()
  report({ port, door })
}

process.on('disconnect', () => process.exit(0))
process.on('message', (order: Order) => {
  if ('settings' in order) {
    start(order.settings).catch((error: Error) => {
      console.error(error)
      process.exit(1)
    })
  } else if ('arm' in order) {
    arms = order.arm
    report({ armed: true })
  } else report({ statements })
})
