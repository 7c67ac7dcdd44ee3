// A server process of its own. It is told what to be by its parent, and ends with it.
import type { Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import { composeServer } from './compose.ts'
import type { KillPoint, Order, Report, Settings } from './server-process.ts'
import { nameOf } from './statement-faults.ts'

const report = (message: Report) => process.send?.(message)
const die = () => process.kill(process.pid, 'SIGKILL')

let armed: KillPoint | null = null
let statements = 0

/** Half an answer, or all of it, and then nothing more. */
const dieAnswering = (server: Server) =>
  server.prependListener('request', (_request, response) => {
    if (armed?.at === 'after_answer') response.on('finish', die)
    if (armed?.at !== 'mid_answer') return
    response.end = (() => {
      const half = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"id":'
      response.socket?.write(half, die)
      return response
    }) as typeof response.end
  })

const start = async (settings: Settings) => {
  const { server, listen } = await composeServer(settings, (point) => {
    if (point.at === 'before_transaction') statements = 0
    if ('statement' in point) statements = point.statement
    if (armed && nameOf(armed) === nameOf(point)) die()
  })
  dieAnswering(server)
  const port = await listen()
  // A process that is killed cannot keep what it compiled; the next one starts faster if this one does it now.
  flushCompileCache()
  report({ port })
}

process.on('disconnect', () => process.exit(0))
process.on('message', (order: Order) => {
  if ('settings' in order) {
    start(order.settings).catch((error: Error) => {
      console.error(error)
      process.exit(1)
    })
  } else if ('arm' in order) {
    armed = order.arm
    statements = 0
    report({ armed: true })
  } else report({ statements })
})
