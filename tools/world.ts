// The local development world: `npm start`. Database, migrations, seed, identity provider and server, in this order, and down again in the other.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isPortFree } from '@gatehouse/server/ground/db/embedded/free-port'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'
import { prepareDatabase } from '@gatehouse/server/process/prepare-database'
import { seedDevelopment } from '@gatehouse/server/process/seed-development'
import { answering } from './world/answering.ts'
import { type Child, startChild } from './world/child.ts'
import { openDatabase } from './world/database.ts'
import { explain } from './world/explain.ts'
import { type Flags, help, readFlags } from './world/flags.ts'
import { onParting } from './world/parting.ts'
import { restartOnChange } from './world/restart-on-change.ts'
import { readSettings } from './world/settings.ts'
import { chosenPlace, enterState, keepEnvironment, keyEncryptionKeys, project } from './world/state.ts'
import { summaryOf } from './world/summary.ts'

const stop = new AbortController()
const children: Child[] = []
const undo: (() => Promise<unknown>)[] = []
let failure: unknown

const say = (line: string) => console.log(`· ${line}`)

const fail = (error: unknown) => {
  if (stop.signal.aborted) return
  failure = error
  stop.abort()
}

/** A part that dies takes the world with it: half a world only confuses. */
const run = (child: Child, drainSeconds: number): Child => {
  children.push(child)
  undo.push(() => child.end(drainSeconds))
  void child.gone.then((how) => fail(new StartRefused(`The ${child.name} ${how}. Its last words:\n${child.lastWords()}`)))
  return child
}

const requirePort = async (port: number, whose: string, command: (other: number) => string) => {
  if (await isPortFree(port)) return
  throw new StartRefused(
    `Port ${port}, wanted for the ${whose}, is taken by another process. Free it, or choose another: ${command(port + 100)}`,
  )
}
const setTo = (variable: string) => (port: number) => `${variable}=${port} npm start`

const migrations = () => readdirSync(join(project, 'db/migrations')).filter((name) => name.endsWith('.sql'))

/** Restarts the server when a file of it changes; settles when it serves for the first time. The server itself applies new migrations. */
const serveWatched = (start: () => Child, ready: (ending: AbortSignal) => Promise<void>, drainSeconds: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let known = migrations()
    const serving = restartOnChange({
      project,
      folders: ['server/src', 'contract/src', 'db'].map((folder) => join(project, folder)),
      start: () => {
        const child = start()
        children.push(child)
        return child
      },
      ready: (ending) => ready(AbortSignal.any([ending, stop.signal])),
      drainSeconds,
      onUp: (isFirst) => {
        if (isFirst) return resolve()
        const added = migrations().filter((name) => !known.includes(name))
        known = migrations()
        say(`the server is up again${added.length > 0 ? `; migrated: ${added.join(', ')}` : ''}`)
      },
      say,
      signal: stop.signal,
    })
    undo.push(() => serving.catch(() => {}))
    serving.then(() => reject(stop.signal.reason), reject)
    serving.catch(fail)
  })

const bringUp = async ({ inspectPort, watch }: Flags): Promise<string> => {
  const settings = readSettings(process.env)
  const place = chosenPlace(settings.stateDir)
  const { stateDir } = place
  if (place.elsewhere) say(`the database's user may not enter this folder, so data and database programs live in ${stateDir}`)
  undo.push((await enterState(stateDir)).release)
  await requirePort(settings.port, 'server', setTo('GATEHOUSE_PORT'))
  await requirePort(settings.idpPort, 'identity provider', setTo('GATEHOUSE_IDP_PORT'))
  await requirePort(settings.nodesPort, 'door of the nodes', setTo('GATEHOUSE_NODES_PORT'))
  await requirePort(settings.metricsPort, 'metrics', setTo('GATEHOUSE_METRICS_PORT'))
  if (inspectPort) await requirePort(inspectPort, "server's inspector", (port) => `npm start -- --inspect=${port}`)
  const address = `http://127.0.0.1:${settings.port}`
  const issuer = `http://127.0.0.1:${settings.idpPort}`
  const door = `https://127.0.0.1:${settings.nodesPort}`

  say(settings.external ? 'using the PostgreSQL in DATABASE_URL' : 'starting PostgreSQL')
  const database = await openDatabase(settings, place, say)
  undo.push(database.stop)
  void database.gone.then((how) => fail(new StartRefused(`PostgreSQL ended unexpectedly (${how}). Its log is ${place.dataDir}.log`)))
  stop.signal.throwIfAborted()
  const applied = await prepareDatabase({ ownerUrl: database.ownerUrl, appRole: database.appRole })
  say(applied.length > 0 ? `migrated: ${applied.join(', ')}` : 'the schema is up to date')
  stop.signal.throwIfAborted()
  await seedDevelopment({ databaseUrl: database.appUrl, issuer, keys: keyEncryptionKeys(stateDir) })
  stop.signal.throwIfAborted()

  say('starting the identity provider and the server')
  const idpEnv = { IDP_PORT: String(settings.idpPort), IDP_STATE_DIR: join(stateDir, 'idp') }
  run(startChild({ name: 'identity provider', file: 'idp/src/main.ts', env: idpEnv, logFile: join(stateDir, 'idp.log') }), 5)
  await answering('The identity provider', `${issuer}/.well-known/openid-configuration`, stop.signal)
  const serverEnv = {
    ...settings.server,
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_HOST: '127.0.0.1',
    GATEHOUSE_PORT: String(settings.port),
    GATEHOUSE_NODES_URL: door,
    GATEHOUSE_NODES_HOST: '127.0.0.1',
    GATEHOUSE_NODES_PORT: String(settings.nodesPort),
    GATEHOUSE_METRICS_HOST: '127.0.0.1',
    GATEHOUSE_METRICS_PORT: String(settings.metricsPort),
    DATABASE_URL: database.appUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
    GATEHOUSE_KEY_ENCRYPTION_KEYS: keyEncryptionKeys(stateDir),
    GATEHOUSE_CHECKPOINT_FILE: join(stateDir, 'checkpoints.jsonl'),
    GATEHOUSE_PUBLIC_URL: address,
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([{ issuer, audience: 'gatehouse-api' }]),
  }
  keepEnvironment(stateDir, serverEnv)
  // Its own pause comes on top; where that is no number, the server refuses to start and there is nothing to wait for.
  const drainSeconds = Number(settings.server.GATEHOUSE_DRAIN_SECONDS) || 0
  const nodeArgs = inspectPort ? [`--inspect=127.0.0.1:${inspectPort}`] : []
  const startServer = () =>
    startChild({ name: 'server', file: 'server/src/main.ts', env: serverEnv, logFile: join(stateDir, 'server.log'), nodeArgs })
  const ready = (signal: AbortSignal) => answering('The server', `${address}/healthz`, signal)
  // A server that stands at a breakpoint, or waits for its debugger to disconnect, does not hear that it should end.
  const patienceSeconds = drainSeconds + (inspectPort ? 3 : 15)
  if (watch) await serveWatched(startServer, ready, patienceSeconds)
  else {
    run(startServer(), patienceSeconds)
    await ready(stop.signal)
  }
  return summaryOf({ address, issuer, door, stateDir, inspectPort, watch })
}

const flags = (() => {
  try {
    return readFlags(process.argv.slice(2))
  } catch (error) {
    console.error(`\n${explain(error)}\n`)
    process.exit(1)
  }
})()
if (flags.help) {
  console.log(help)
  process.exit(0)
}

onParting({
  onFirst: () => {
    console.log('\nStopping; once more to hurry.')
    stop.abort()
  },
  // What we started sees us leave, and leaves too.
  onSecond: () => {
    for (const child of children) child.kill()
    process.exit(1)
  },
})

const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }))
try {
  console.log(await bringUp(flags))
  await stopped
} catch (error) {
  fail(error)
}
stop.abort()
for (const step of undo.reverse()) await step()
if (failure) console.error(`\n${explain(failure)}\n`)
else console.log('Stopped. The data is kept.')
process.exit(failure ? 1 : 0)
