import { EventEmitter, once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { followSet } from '#fleet/access-grants/follow-set.ts'
import { renewDoor } from '#fleet/nodes/door.ts'
import { openDatabase } from '#ground/db/database.ts'
import { keepFresh } from '#ground/epochs/fresh.ts'
import { requireNotBehind } from '#ground/installation/compare-heads.ts'
import { ownSecret } from '#ground/installation/own-secrets.ts'
import { loggerOptions } from '#ground/telemetry/logger-options.ts'
import { createMetrics } from '#ground/telemetry/metrics.ts'
import { startTracing } from '#ground/telemetry/start-tracing.ts'
import { keyTender } from '#machines/keys/tend-keys.ts'
import { createTransit } from '#machines/keys/transit.ts'
import { humanTokens } from '#people/principals/oidc/human-tokens.ts'
import { openInstallation } from '#process/open-installation.ts'
import { sentenceOf } from '#process/start-sentence.ts'
import { authRejections } from '#rails/audit/auth-rejections.ts'
import { countedAppend } from '#rails/audit/counted-append.ts'
import { metricsListener } from '#rails/http/metrics-listener.ts'
import { createServer, type ServerParts } from '#rails/http/server.ts'
import { bulkheads } from '#rails/http/tenant-database.ts'
import { prepareJobs } from '#rails/jobs/run-jobs.ts'
import { parseConfig } from './config.ts'
import { compose, createDoor } from './process/compose.ts'
import { type JobParts, jobs } from './rooms.ts'

// Disable allocation-site pretenuring: V8 would allocate request objects in old space, where they survive until a full GC (docs/benchmarks.md).
setFlagsFromString('--no-allocation-site-pretenuring')

const start = async () => {
  const config = parseConfig(process.env)
  const { issuers, host, port } = config
  const metrics = createMetrics()
  let app: Awaited<ReturnType<typeof createServer>> | undefined
  const onError = (error: Error) =>
    app ? app.log.warn({ err: error }, 'a database connection broke') : console.error(`database: ${error.message}`)
  const { database, primary, ring, checkpoints, verify, ...installation } = await openInstallation(config, onError)
  // Connections of its own: who asks whether something is still so must not wait behind those who change it.
  const deciding = openDatabase({ url: config.database_url.reveal(), max_connections: 3, statement_timeout_ms: 1000, primary, onError })
  await requireNotBehind(database, checkpoints)
  const append = countedAppend(installation.append, metrics.auditAppended)
  const rejections = authRejections(database, append)
  const stopTracing = await startTracing(config.otlp_endpoint === null ? null : { endpoint: config.otlp_endpoint })
  const tokens = humanTokens(issuers)
  const transit = config.transit && createTransit(config.transit)
  const tending = { database, append, ring, transit, algorithm: config.token_algorithm }
  const next_key = new EventEmitter()
  const {
    nodes,
    tasking,
    parts: product,
  } = await compose({
    ...{ database, append, verify, ring, tokens, transit, fresh: keepFresh(deciding) },
    cursor_key: await ownSecret(database, ring, 'cursor_key'),
    issuer: { url: config.public_url, audience: config.token_audience },
    tendKeysSoon: () => next_key.emit('wanted'),
    nodes_url: config.nodes.url,
    tasking: {
      database_url: config.database_url.reveal(),
      primary,
      onError: (error, during) =>
        app?.log.warn(
          { err: error },
          during === 'listening' ? 'LISTEN connection lost: polling node tasks every 1 s' : 're-signing queued node tasks failed, retrying',
        ),
    },
    onUnrecorded: (what, err) => {
      metrics.refusalUnrecorded(what)
      app?.log.error({ err }, `the record of a refused token is ${what}`)
    },
  })
  metrics.watchWakes(tasking.tasks.wakes.isListening)
  const parts: ServerParts = {
    ...product,
    bulkheads: bulkheads(database),
    logger: loggerOptions(config.log_level),
    nodes_url: config.nodes.url,
    metrics,
    onRejected: rejections.note,
    identityReady: tokens.ready,
    drain_seconds: config.drain_seconds,
    isTrustedProxy: config.isTrustedProxy,
  }
  app = await createServer(parts)
  const { log } = app
  const { door, hosts } = await createDoor(parts, nodes, config.profile === 'development')
  const renewal = renewDoor(door.server as never, nodes.authority, hosts, (error) =>
    log.error({ err: error }, 'renewing the door’s certificate failed'),
  )

  const background = prepareJobs<JobParts>(
    jobs,
    {
      ...{ database, append, tasking, rejections, checkpoints, signing: tasking.tasks.signing, onSetMoved: [followSet] },
      checkpoint_seconds: config.checkpoint_seconds,
      onCheckpointed: metrics.checkpointed,
      onCheckpointsRefused: (because) => void stop(1, because),
      tendKeys: keyTender(tending),
      onKeysTended: ({ can_sign, is_next_of_other_kind }) => {
        metrics.signingKeyTended(can_sign)
        // Still fit to verify and decide, so it stays ready.
        if (!can_sign) log.error('no signing key can be used here: no token is issued')
        if (is_next_of_other_kind)
          log.warn('the next signing key is not of the kind that is configured here: servers are configured differently')
      },
      onTasksTended: metrics.nodeTasksTended,
    },
    {
      onEnded: metrics.jobEnded,
      onFailed: (error, { name, doing, every_seconds }) =>
        log.error({ err: error, job: name }, `${doing} failed, retrying within ${every_seconds} s`),
    },
  )
  next_key.on('wanted', () => background.runSoon('tend-signing-keys'))
  await background.start()

  const metering = metricsListener(metrics)
  let stopping = false
  const stop = async (code: number, because: string) => {
    if (stopping) return
    stopping = true
    log.info({ because }, 'stopping')
    const stopped = background.stop()
    // Requests under way are answered; what comes after gets no connection.
    renewal.stop()
    // The nodes' door first: what is still written aside ends with the other.
    await Promise.all([door.close(), app.close()])
    await tasking.close()
    await stopped
    await background.finish()
    tokens.stop()
    await Promise.all([database.close(), deciding.close()])
    await stopTracing()
    metering.closeAllConnections()
    process.exit(code)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (!stopping) return void stop(0, signal)
      app.hurry()
      door.hurry()
    })
  // Node would print the error with all that hangs on it.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'ended by an error that nobody caught')
    process.exit(1)
  })
  const orphaned = () => stop(0, 'standard input ended')
  if (config.has_lifeline) process.stdin.on('end', orphaned).on('error', orphaned).resume()
  const naming = (setting: string) => (error: Error) => {
    throw Object.assign(error, { setting })
  }
  metering.listen({ host: config.metrics.host, port: config.metrics.port })
  await once(metering, 'listening').catch(naming('GATEHOUSE_METRICS_PORT'))
  await door.listen({ host: config.nodes.host, port: config.nodes.port }).catch(naming('GATEHOUSE_NODES_PORT'))
  await app.listen({ host, port })
  log.info({ address: metering.address() }, 'serving metrics')
  const prepare = () =>
    app.prepareDocs().catch((error: Error) => log.error({ err: error }, 'preparing the API documents failed, retrying when asked for'))
  // Compressing three megabytes takes a third of a second of processor time: after the start, and not in a process that ends at once.
  setTimeout(prepare, 5000).unref()
}

start().catch((error: unknown) => {
  console.error(`gatehouse: ${sentenceOf(error)}`)
  process.exit(1)
})
