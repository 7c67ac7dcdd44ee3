import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PostgresRequest, startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { hasPart, parts } from '../../tools/test/parts.ts'
import { oneOfMany, sweep } from '../sweep.ts'

const badStart = oneOfMany(0.25)

const project = join(import.meta.dirname, '../..')
const quick = { fsync: 'off', full_page_writes: 'off' }
const debianBinDir = dirname(parts.postgres15.path)

const folders: string[] = []
const undo: (() => Promise<unknown>)[] = []

const newDataDir = () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pg-'))
  folders.push(folder)
  // mkdtemp gives 0700, which the database's own user could not enter when we are root.
  return join(folder, 'state/postgres')
}

const openUp = () => {
  for (const folder of folders) execFileSync('chmod', ['711', folder])
}

const start = async (request: PostgresRequest) => {
  openUp()
  const postgres = await startPostgres({ settings: quick, ...request })
  undo.push(postgres.stop)
  return postgres
}

const ask = async (url: string, text: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    // Several statements in one text are answered by a list; the last one counts.
    return [await client.query({ text, rowMode: 'array' })].flat().at(-1)!.rows.flat()
  } finally {
    await client.end()
  }
}

/** Every process that works in the folder or names it on its command line. */
const processesOn = (path: string): string[] =>
  execFileSync('ps', ['axww', '-o', 'pid=,args='])
    .toString()
    .split('\n')
    .filter((line) => line.includes(path))

// A zombie waiting for its reaper is no longer running.
const isRunning = (pid: number) => existsSync(`/proc/${pid}`) && !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))

const until = async (condition: () => boolean, seconds: number) => {
  for (let waited = 0; waited < seconds * 1000 && !condition(); waited += 50) await sleep(50)
  return condition()
}

/** Another process that starts PostgreSQL and then does nothing, so that it can be killed. */
const startInAnother = async (dataDir: string): Promise<{ child: ChildProcess; pid: number }> => {
  openUp()
  const program = `
    import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
    const { pid } = await startPostgres({ dataDir: process.argv[1], settings: { fsync: 'off' } })
    console.log(pid)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, dataDir], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  undo.push(async () => child.kill('SIGKILL'))
  const pid = await new Promise<number>((resolve) => child.stdout.once('data', (chunk) => resolve(Number(chunk))))
  return { child, pid }
}

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
  for (const folder of folders.splice(0)) {
    await until(() => processesOn(folder).length === 0, 20)
    rmSync(folder, { recursive: true, force: true })
  }
})

const binDirs: [string, string | undefined][] = [['the packaged PostgreSQL', undefined]]
if (hasPart('postgres15')) binDirs.push(["Debian's PostgreSQL 15", debianBinDir])
else test.skip("HO-01 Debian's PostgreSQL 15 (needs postgres15)")

// Either of them in `npm test`, both in `npm run test:all`.
describe.each(sweep('installations of PostgreSQL', binDirs, 1))('HO-01 %s', (_, binDir) => {
  const other = binDir ? { binDir } : {}

  test('HO-01 starts, makes roles and database, keeps data over a stop, and asks for passwords', async () => {
    const dataDir = newDataDir()
    const first = await start({ dataDir, ...other })
    await ask(first.ownerUrl, 'create table kept (n integer); insert into kept values (7); grant select on kept to gatehouse_app')
    await expect(ask(first.appUrl.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow('password authentication failed')
    await expect(ask(first.appUrl, 'create table mine (n integer)')).rejects.toThrow('permission denied')
    expect(await ask(first.superuserUrl, "select rolname, rolsuper from pg_roles where rolname like 'gatehouse%' order by 1")).toEqual([
      ...['gatehouse_app', false],
      ...['gatehouse_owner', false],
    ])
    expect(
      await ask(
        first.ownerUrl,
        "select current_setting('timezone'), current_setting('server_encoding'), current_setting('data_checksums')",
      ),
    ).toEqual([...['UTC', 'UTF8', 'on']])
    expect(await ask(first.ownerUrl, "select lower('ÄÖ'), 'Z' < 'a'")).toEqual(['äö', true])
    await first.stop()
    expect(processesOn(dataDir)).toEqual([])
    const second = await start({ dataDir, ...other })
    expect(await ask(second.appUrl, 'select n from kept')).toEqual([7])
  })

  test('HO-01 recovers after its postmaster was killed with -9', async () => {
    const dataDir = newDataDir()
    const first = await start({ dataDir, ...other })
    await ask(first.ownerUrl, 'create table kept (n integer); insert into kept values (7)')
    process.kill(first.pid, 'SIGKILL')
    expect(await first.gone).toBe('SIGKILL')
    await first.stop()
    const second = await start({ dataDir, ...other })
    expect(await ask(second.ownerUrl, 'select n from kept')).toEqual([7])
  })
})

test('HO-01 PostgreSQL runs as an unprivileged user, and its passwords are for the starter only', async () => {
  const dataDir = newDataDir()
  const { pid } = await start({ dataDir })
  expect(statSync(`/proc/${pid}`).uid).not.toBe(0)
  expect(statSync(`${dataDir}.passwords.json`).mode & 0o777).toBe(0o600)
  expect(statSync(`${dataDir}.passwords.json`).uid).toBe(process.getuid?.())
  expect(statSync(dataDir).mode & 0o077).toBe(0)
})

badStart('HO-01 PostgreSQL does not outlive a starter that was killed with -9', async () => {
  const dataDir = newDataDir()
  const { child, pid } = await startInAnother(dataDir)
  expect(isRunning(pid)).toBe(true)
  child.kill('SIGKILL')
  expect(await until(() => processesOn(dataDir).length === 0, 15), processesOn(dataDir).join('\n')).toBe(true)
})

badStart('HO-01 a start right after kill -9 waits for the former PostgreSQL to leave', async () => {
  const dataDir = newDataDir()
  const { child, pid } = await startInAnother(dataDir)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  const next = await start({ dataDir })
  expect(next.pid).not.toBe(pid)
  expect(await ask(next.appUrl, 'select 1')).toEqual([1])
})

badStart('HO-01 a PostgreSQL that lost its keeper is ended by the next start', async () => {
  const dataDir = newDataDir()
  const { child, pid } = await startInAnother(dataDir)
  const keeper = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
  process.kill(keeper, 'SIGKILL')
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  expect(isRunning(pid)).toBe(true)
  const lines: string[] = []
  await start({ dataDir, log: (line) => lines.push(line) })
  expect(lines).toContain('ending the PostgreSQL of a former run')
  expect(isRunning(pid)).toBe(false)
})

badStart('HO-01 a number in postmaster.pid that now belongs to another process does not stop the start', async () => {
  const dataDir = newDataDir()
  const first = await start({ dataDir })
  const owner = statSync(dataDir)
  await first.stop()
  // Of the database's own user, or PostgreSQL would know by itself that it is a stranger.
  const stranger = spawn('sleep', ['60'], { stdio: 'ignore', ...(process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}) })
  undo.push(async () => stranger.kill())
  writeFileSync(join(dataDir, 'postmaster.pid'), `${stranger.pid}\n${dataDir}\n1700000000\n5432\n\n127.0.0.1\n  1  1\nready\n`)
  const second = await start({ dataDir })
  expect(await ask(second.appUrl, 'select 1')).toEqual([1])
  expect(stranger.exitCode).toBe(null)
})

badStart('HO-01 a half-initialised folder is set aside and an unfinished initialisation is swept', async () => {
  const dataDir = newDataDir()
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(join(dataDir, 'PG_VERSION'), '18\n')
  mkdirSync(`${dataDir}.new-abc123/data`, { recursive: true })
  execFileSync('chmod', ['711', dirname(dataDir)])
  const { appUrl } = await start({ dataDir })
  expect(await ask(appUrl, 'select 1')).toEqual([1])
  const names = readdirSync(dirname(dataDir)).map((name) => name.replace(/\d{5,}/, 'N'))
  expect(names.sort()).toEqual(['postgres', 'postgres.incomplete-N', 'postgres.log', 'postgres.passwords.json'])
})

badStart('HO-01 the folder, once in use, is refused to a second starter by name', async () => {
  const dataDir = newDataDir()
  await start({ dataDir })
  await expect(start({ dataDir })).rejects.toThrow(`The database in ${dataDir} is in use by process ${process.pid}.`)
})

badStart('HO-01 a wanted port that is taken, data of another version and lost passwords each give a sentence', async () => {
  const dataDir = newDataDir()
  const first = await start({ dataDir })
  await first.stop()
  const taken = createServer().listen(0, '127.0.0.1')
  undo.push(() => new Promise((resolve) => taken.close(resolve)))
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as { port: number }
  await expect(start({ dataDir, port })).rejects.toThrow(`Port ${port}, wanted for PostgreSQL, is taken by another process.`)

  const version = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8')
  writeFileSync(join(dataDir, 'PG_VERSION'), '13\n')
  await expect(start({ dataDir })).rejects.toThrow(/was written by PostgreSQL 13 and this is PostgreSQL \d+\. .* npm run reset/)
  writeFileSync(join(dataDir, 'PG_VERSION'), version)
  rmSync(`${dataDir}.passwords.json`)
  await expect(start({ dataDir })).rejects.toThrow(/has lost its passwords .* npm run reset/)
})
