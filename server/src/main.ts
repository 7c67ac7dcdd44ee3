import { parseConfig } from './config.ts'
import { sealedCursors } from './http/cursor.ts'
import { forgetOldAnswers } from './http/idempotency.ts'
import { createServer } from './http/server.ts'
import { requireNotBehind } from './installation/compare-heads.ts'
import { ownSecret } from './installation/own-secrets.ts'
import { writeCheckpoint } from './installation/write-checkpoint.ts'
import { openInstallation } from './open-installation.ts'
import { identifyPerson } from './principals/identify-person.ts'
import { humanTokens } from './principals/oidc/human-tokens.ts'
import { sentenceOf } from './start-sentence.ts'
import { answersWith, tenancySubscribers } from './wiring.ts'

const start = async () => {
  const config = parseConfig(process.env)
  const { issuers, host, port } = config
  const { database, ring, append, checkpoints, verify } = await openInstallation(config, (error) =>
    console.error(`database: ${error.message}`),
  )
  await requireNotBehind(database, checkpoints)
  const tokens = humanTokens(issuers)
  const app = await createServer({
    answers: answersWith({ verify }),
    database,
    append,
    cursors: sealedCursors(await ownSecret(database, ring, 'cursor_key')),
    identify: identifyPerson(tokens, database, tenancySubscribers, append),
    logger: { level: config.log_level },
  })

  /** Does something now and then; a failure is told, and it is tried again the next time. */
  const every = (seconds: number, what: string, act: () => Promise<unknown>) => {
    const tick = () => act().catch((error: Error) => app.log.error({ err: error }, `${what} failed`))
    return { timer: setInterval(tick, seconds * 1000), tick }
  }
  const sweep = every(600, 'sweeping old answers', () => forgetOldAnswers(database))
  const checkpoint = every(config.checkpoint_seconds, 'writing a checkpoint', () => writeCheckpoint(database, checkpoints))

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    for (const { timer } of [sweep, checkpoint]) clearInterval(timer)
    // Requests under way are answered; what comes after gets no connection.
    await app.close()
    await checkpoint.tick()
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
