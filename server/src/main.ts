import { appendWith } from './audit/append.ts'
import { verifyChains } from './audit/verify-chains.ts'
import { parseConfig } from './config.ts'
import { parseKeyRing } from './custody/key-ring.ts'
import { openDatabase } from './db/database.ts'
import { sealedCursors } from './http/cursor.ts'
import { forgetOldAnswers } from './http/idempotency.ts'
import { createServer } from './http/server.ts'
import { auditKey } from './installation/own-secrets.ts'
import { identifyPerson } from './principals/identify-person.ts'
import { humanTokens } from './principals/oidc/human-tokens.ts'
import { requireFitDatabase } from './start-checks.ts'
import { sentenceOf } from './start-sentence.ts'
import { answersWith, tenancySubscribers } from './wiring.ts'

const start = async () => {
  const config = parseConfig(process.env)
  const { region, issuers, host, port } = config
  const database = openDatabase({ url: config.database_url.reveal(), onError: (error) => console.error(`database: ${error.message}`) })
  await requireFitDatabase(config, database)
  const ring = parseKeyRing(`first:${config.cursor_key.reveal()}`)
  const key = await auditKey(database, ring)
  const append = appendWith({ region, key })
  const tokens = humanTokens(issuers)
  const app = await createServer({
    answers: answersWith({ verify: async (reader) => ({ ...(await verifyChains(reader, key)), checkpoints: 0 }) }),
    database,
    append,
    cursors: sealedCursors(config.cursor_key),
    identify: identifyPerson(tokens, database, tenancySubscribers, append),
    logger: { level: config.log_level },
  })

  const sweep = setInterval(() => forgetOldAnswers(database).catch((error: Error) => app.log.warn({ err: error }, 'sweep failed')), 600_000)
  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    clearInterval(sweep)
    // Requests under way are answered; what comes after gets no connection.
    await app.close()
    tokens.stop()
    await database.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  if (config.has_lifeline) process.stdin.on('end', stop).on('error', stop).resume()
  await app.listen({ host, port })
}

start().catch((error: unknown) => {
  console.error(`gatehouse: ${sentenceOf(error)}`)
  process.exit(1)
})
