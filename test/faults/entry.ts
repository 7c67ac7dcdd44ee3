// A server process of its own, composed as server/src/main.ts composes it, but for the parts that a test replaces. It is told
// what to be by its parent and ends with it.
import type { Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { appendWith } from '../../server/src/audit/append.ts'
import { verifyChains } from '../../server/src/audit/verify-chains.ts'
import { parseKeyRing } from '../../server/src/custody/key-ring.ts'
import { openDatabase } from '../../server/src/db/database.ts'
import { sealedCursors } from '../../server/src/http/cursor.ts'
import { createServer, type ServerParts } from '../../server/src/http/server.ts'
import { auditKey } from '../../server/src/installation/own-secrets.ts'
import { Secret } from '../../server/src/kernel/secret.ts'
import { identifyPerson } from '../../server/src/principals/identify-person.ts'
import { humanTokens } from '../../server/src/principals/oidc/human-tokens.ts'
import { answersWith, tenancySubscribers } from '../../server/src/wiring.ts'
import { brokenAs } from './builds.ts'
import type { KillPoint, Order, Report, Settings } from './server-process.ts'
import { nameOf, withFaults } from './statement-faults.ts'

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

const start = async ({ appUrl, issuer, keys, cursorKey, build, logLevel }: Settings) => {
  const direct = openDatabase({ url: appUrl, onError: (error) => console.error(`database: ${error.message}`) })
  const database = withFaults(direct, (point) => {
    if (point.at === 'before_transaction') statements = 0
    if ('statement' in point) statements = point.statement
    if (armed && nameOf(armed) === nameOf(point)) die()
  })
  const key = await auditKey(direct, parseKeyRing(keys))
  const append = appendWith({ region: 'test', key })
  const tokens = humanTokens([issuer])
  const broken = brokenAs(build)
  const parts: ServerParts = {
    answers: answersWith({ verify: async (reader) => ({ ...(await verifyChains(reader, key)), checkpoints: 0 }) }),
    database,
    append,
    cursors: sealedCursors(new Secret(cursorKey)),
    identify: identifyPerson(tokens, database, tenancySubscribers, append),
    logger: { level: logLevel },
  }
  const app = await createServer(broken.parts?.(parts, direct) ?? parts)
  broken.server?.(app.server)
  dieAnswering(app.server)
  await app.listen({ host: '127.0.0.1', port: 0 })
  // A process that is killed cannot keep what it compiled; the next one starts faster if this one does it now.
  flushCompileCache()
  report({ port: (app.server.address() as AddressInfo).port })
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
