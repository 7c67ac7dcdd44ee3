import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@gatehouse/server/ground/db/embedded/free-port'
import pg from 'pg'
import { afterAll, afterEach, expect, test } from 'vitest'
import { oneOfMany, sweep } from '../sweep.ts'

const badStart = oneOfMany(1 / 3)

const project = join(import.meta.dirname, '../..')
const undo: (() => unknown)[] = []

type Env = Record<string, string>
type Run = { child: ChildProcess; output: () => string; ended: Promise<number | string> }

/** A folder, ports and an environment that no other world uses. */
const newPlace = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-start-'))
  chmodSync(folder, 0o711)
  undo.push(async () => {
    await until(() => processesNaming(folder).length === 0, 20)
    rmSync(folder, { recursive: true, force: true })
  })
  const [port, idpPort, nodesPort, dbPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const stateDir = join(folder, 'state')
  // The mark is inherited by every process, so that none can hide.
  const env = {
    MARK_OF_THIS_TEST: folder,
    GATEHOUSE_STATE_DIR: stateDir,
    GATEHOUSE_PORT: `${port}`,
    GATEHOUSE_IDP_PORT: `${idpPort}`,
    GATEHOUSE_NODES_PORT: `${nodesPort}`,
    GATEHOUSE_METRICS_PORT: `${await freePort()}`,
    GATEHOUSE_DB_PORT: `${dbPort}`,
  }
  return { folder, stateDir, env, port, idpPort, nodesPort, dbPort }
}

/** A state folder that a world has left in good order, to be copied: a first start takes several times as long as another one. */
let left: string | undefined
afterAll(() => left && rmSync(left, { recursive: true, force: true }))
// Copied by the system's own command, which keeps the owner of the database's files.
const keepState = (stateDir: string) => {
  left = mkdtempSync(join(tmpdir(), 'gatehouse-left-'))
  chmodSync(left, 0o711)
  execFileSync('cp', ['-a', stateDir, join(left, 'state')])
}

/** The same as a new place, where a world has been before. */
const usedPlace = async () => {
  const place = await newPlace()
  if (left) execFileSync('cp', ['-a', join(left, 'state'), place.stateDir])
  return place
}

const outside = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GATEHOUSE_|DATABASE_|VITEST|NODE_ENV)/.test(name)))

/** As `npm start` runs it, in a process group of its own as a terminal would give it. */
const launch = (env: Env, file = 'tools/world.ts'): Run => {
  const child = spawn(process.execPath, ['tools/launch.mjs', file], {
    cwd: project,
    env: { ...outside(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk
    })
  }
  const ended = new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal!)))
  undo.push(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  })
  return { child, output: () => text, ended }
}

const until = async (condition: () => boolean, seconds: number) => {
  for (let waited = 0; waited < seconds * 1000 && !condition(); waited += 50) await sleep(50)
  return condition()
}

const bringUp = async (env: Env): Promise<Run> => {
  const run = launch(env)
  let hasEnded = false
  void run.ended.then(() => {
    hasEnded = true
  })
  await until(() => hasEnded || run.output().includes('Ctrl-C stops everything'), 90)
  expect(hasEnded, run.output()).toBe(false)
  return run
}

/** Living processes that carry the text in their command line or environment: the mark, or the data folder. */
const processesNaming = (text: string): string[] =>
  execFileSync('ps', ['axwwe', '-o', 'pid=,stat=,args='], { maxBuffer: 64e6 })
    .toString()
    .split('\n')
    .filter((line) => line.includes(text) && !/^\s*\d+\s+Z/.test(line))

const leavesNothing = async (folder: string) => {
  await until(() => processesNaming(folder).length === 0, 20)
  expect(processesNaming(folder)).toEqual([])
}

const signalGroup = ({ child }: Run, signal: NodeJS.Signals) => process.kill(-child.pid!, signal)

const ask = async (url: string, text: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

/** What the two printed lines answer when they are pasted into a shell. */
const pasted = (run: Run): Record<string, unknown> => {
  const lines = run
    .output()
    .split('\n')
    .filter((line) => /^ {2}(TOKEN=\$\()?curl /.test(line))
  return JSON.parse(execFileSync('bash', ['-c', lines.join('\n')]).toString())
}

const superuserUrl = (stateDir: string, dbPort: number) => {
  const { superuser } = JSON.parse(readFileSync(join(stateDir, 'postgres.passwords.json'), 'utf8'))
  return `postgresql://postgres:${superuser}@127.0.0.1:${dbPort}/gatehouse`
}

/** A bad start: exit 1 and a sentence, never a stack trace. */
const refusedWith = async (run: Run, sentence: string | RegExp) => {
  expect(await run.ended, run.output()).toBe(1)
  expect(run.output()).toMatch(sentence)
  expect(run.output()).not.toMatch(/^\s+at .*:\d+/m)
  expect(run.output()).not.toContain('node:internal')
}

const occupy = async (port: number) => {
  const server = createServer().listen(port, '127.0.0.1')
  undo.push(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
}

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

test('HO-01 the printed lines sign a person in and make an authorized call; Ctrl-C leaves no process; the second start is quick and keeps the data', async () => {
  const { folder, stateDir, env, dbPort } = await newPlace()
  const first = await bringUp(env)
  for (const name of ['ada', 'alice', 'bodo']) expect(first.output()).toMatch(new RegExp(`${name} +${name}-gatehouse +\\w+`))
  const alice = pasted(first)
  expect(alice).toMatchObject({ id: expect.any(String), username: 'alice' })
  await ask(superuserUrl(stateDir, dbPort), 'create schema kept_by_test')

  signalGroup(first, 'SIGINT')
  expect(await first.ended, first.output()).toBe(0)
  expect(first.output()).toContain('Stopped. The data is kept.')
  expect(processesNaming(folder)).toEqual([])
  keepState(stateDir)

  // The provider moves to another port, as somebody whose port was taken would be told to do.
  const second = await bringUp({ ...env, GATEHOUSE_IDP_PORT: String(await freePort()) })
  expect(second.output()).not.toContain('initialising the database')
  expect(second.output()).toContain('the schema is up to date')
  expect(await ask(superuserUrl(stateDir, dbPort), "select count(*) from pg_namespace where nspname = 'kept_by_test'")).toEqual(['1'])
  expect(pasted(second)).toMatchObject({ id: alice.id })
  signalGroup(second, 'SIGTERM')
  expect(await second.ended).toBe(0)
  expect(processesNaming(folder)).toEqual([])
})

const kills: readonly [string, (run: Run) => void][] = [
  ['world and launcher', (run) => signalGroup(run, 'SIGKILL')],
  ['the launcher alone', (run) => run.child.kill('SIGKILL')],
]
test.for(sweep('killed worlds', kills, 1))(
  'HO-01 npm start: %s killed with -9 → no process is left, and the next start recovers',
  async ([, kill]) => {
    const { folder, env } = await usedPlace()
    kill(await bringUp(env))
    await leavesNothing(folder)
    const next = await bringUp(env)
    signalGroup(next, 'SIGINT')
    expect(await next.ended, next.output()).toBe(0)
  },
)

badStart('HO-01 Ctrl-C in the middle of the first start leaves no process, and the next start succeeds', async () => {
  const { folder, env } = await newPlace()
  const first = launch(env)
  await until(() => first.output().includes('initialising the database'), 30)
  signalGroup(first, 'SIGINT')
  expect(await first.ended, first.output()).toBe(0)
  expect(processesNaming(folder)).toEqual([])
  const second = await bringUp(env)
  signalGroup(second, 'SIGINT')
  expect(await second.ended).toBe(0)
})

badStart('HO-01 a part that dies takes the world with it, with its name', async () => {
  const { folder, env } = await usedPlace()
  const run = await bringUp(env)
  const server = processesNaming(folder).find((line) => line.includes('server/src/main.ts'))!
  process.kill(Number.parseInt(server, 10), 'SIGKILL')
  await refusedWith(run, 'The server ended by SIGKILL.')
  expect(processesNaming(folder)).toEqual([])
})

test('HO-01 while it runs, a second start and a reset are refused; afterwards the reset wipes', async () => {
  const { stateDir, env } = await usedPlace()
  const run = await bringUp(env)
  await refusedWith(launch(env), /already running from this folder \(process \d+\)/)
  await refusedWith(launch(env, 'tools/reset.ts'), /is running on .* nothing was wiped/)
  signalGroup(run, 'SIGINT')
  await run.ended
  writeFileSync(join(stateDir, 'not-ours.txt'), 'kept')
  const reset = launch(env, 'tools/reset.ts')
  expect(await reset.ended, reset.output()).toBe(0)
  expect(existsSync(join(stateDir, 'postgres'))).toBe(false)
  expect(existsSync(join(stateDir, 'postgres.passwords.json'))).toBe(false)
  expect(existsSync(join(stateDir, 'not-ours.txt'))).toBe(true)
})

badStart('HO-01 taken ports are named, with the variable that chooses another', async () => {
  const { folder, env, port, idpPort, nodesPort, dbPort } = await newPlace()
  await occupy(port)
  await refusedWith(
    launch(env),
    `Port ${port}, wanted for the server, is taken by another process. Free it, or choose another: GATEHOUSE_PORT=`,
  )
  const other = { ...env, GATEHOUSE_PORT: String(await freePort()) }
  await occupy(idpPort)
  await refusedWith(
    launch(other),
    `Port ${idpPort}, wanted for the identity provider, is taken by another process. Free it, or choose another: GATEHOUSE_IDP_PORT=`,
  )
  const third = { ...other, GATEHOUSE_IDP_PORT: String(await freePort()) }
  await occupy(nodesPort)
  await refusedWith(
    launch(third),
    `Port ${nodesPort}, wanted for the door of the nodes, is taken by another process. Free it, or choose another: GATEHOUSE_NODES_PORT=`,
  )
  await occupy(dbPort)
  await refusedWith(launch({ ...third, GATEHOUSE_NODES_PORT: String(await freePort()) }), `Port ${dbPort}, wanted for PostgreSQL, is taken`)
  expect(processesNaming(folder)).toEqual([])
})

badStart('HO-01 settings that cannot be meant give a sentence', async () => {
  const { env } = await newPlace()
  await refusedWith(launch({ ...env, GATEHOUSE_PORT: 'http' }), 'GATEHOUSE_PORT is "http", which is no port')
  await refusedWith(launch({ ...env, GATEHOUSE_PORT: env.GATEHOUSE_IDP_PORT }), 'cannot both have port')
  await refusedWith(launch({ ...env, DATABASE_URL: 'postgresql://app@127.0.0.1/x' }), 'DATABASE_OWNER_URL (migrations) go together')
  await refusedWith(
    launch({ ...env, GATEHOUSE_STATE_DRI: '/tmp' }),
    /no setting GATEHOUSE_STATE_DRI\. npm start knows .*GATEHOUSE_STATE_DIR/,
  )
  const nowhere = `postgresql://app:x@127.0.0.1:${await freePort()}/x`
  await refusedWith(launch({ ...env, DATABASE_URL: nowhere, DATABASE_OWNER_URL: nowhere }), 'does not accept connections')
})

badStart('HO-01 a state folder that cannot be made or written gives a sentence', async () => {
  const { folder, env } = await newPlace()
  writeFileSync(join(folder, 'file'), '')
  await refusedWith(launch({ ...env, GATEHOUSE_STATE_DIR: join(folder, 'file/state') }), 'is a file and not a folder')
  await refusedWith(launch({ ...env, GATEHOUSE_STATE_DIR: '/proc/gatehouse' }), '/proc/gatehouse cannot be made')
  await refusedWith(launch({ ...env, GATEHOUSE_STATE_DIR: '/sys/gatehouse' }), 'may not write to /sys/gatehouse')
})

badStart('HO-01 a parent folder that the database or we may not use gives a sentence where the folder was chosen by hand', async () => {
  const { folder, env } = await newPlace()
  const stateDir = join(folder, 'closed/state')
  // Root's database runs as somebody else, who may not enter; anybody else's runs as themselves, who may not write.
  const isRoot = process.getuid?.() === 0
  mkdirSync(join(folder, 'closed'), { mode: isRoot ? 0o700 : 0o500 })
  await refusedWith(launch({ ...env, GATEHOUSE_STATE_DIR: stateDir }), isRoot ? `may not enter ${stateDir}` : 'may not write to')
})
