import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@gatehouse/server/ground/db/embedded/free-port'
import { afterEach, expect, test } from 'vitest'
import { launcher } from './launched.ts'

const project = join(import.meta.dirname, '../..')
const { launch, endAll } = launcher()
const folders: string[] = []

/** A copy of the source, because these tests edit it. Packages are links; our own packages are those of the copy. */
const copyOfTheTree = () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-develop-'))
  folders.push(folder)
  chmodSync(folder, 0o755)
  const packages = ['contract', 'server', 'agent', 'idp']
  for (const name of [...packages, 'examples', 'db', 'tools', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
    cpSync(join(project, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'node_modules/@gatehouse'), { recursive: true })
  for (const name of readdirSync(join(project, 'node_modules')))
    if (name !== '@gatehouse' && !/^\.(?:cache|vite)/.test(name))
      symlinkSync(join(project, 'node_modules', name), join(folder, 'node_modules', name))
  for (const name of packages) symlinkSync(join(folder, name), join(folder, 'node_modules/@gatehouse', name))
  return folder
}

const outside = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GATEHOUSE_|DATABASE_|VITEST|TEST$|NODE_ENV)/.test(name)))

/** Living processes that carry the folder in their command line or environment. */
const processesOf = (folder: string): string[] =>
  execFileSync('ps', ['axwwe', '-o', 'pid=,stat=,args='], { maxBuffer: 64e6 })
    .toString()
    .split('\n')
    .filter((line) => line.includes(folder) && !/^\s*\d+\s+Z/.test(line))

const until = async (condition: () => boolean, what: () => string, seconds = 60) => {
  for (let waited = 0; waited < seconds * 1000; waited += 50) {
    if (condition()) return
    await sleep(50)
  }
  throw new Error(`not within ${seconds} s: ${what()}`)
}

afterEach(async () => {
  await endAll()
  for (const folder of folders.splice(0)) {
    await until(
      () => processesOf(folder).length === 0,
      () => processesOf(folder).join('\n'),
      20,
    )
    rmSync(folder, { recursive: true, force: true })
  }
})

const dev = async (folder: string, ...flags: string[]) => {
  const [port, idpPort, nodesPort, inspectPort] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const env = {
    ...outside(),
    MARK_OF_THIS_TEST: folder,
    GATEHOUSE_STATE_DIR: join(folder, 'state'),
    GATEHOUSE_PORT: `${port}`,
    GATEHOUSE_IDP_PORT: `${idpPort}`,
    GATEHOUSE_NODES_PORT: `${nodesPort}`,
    GATEHOUSE_METRICS_PORT: `${await freePort()}`,
    GATEHOUSE_DB_PORT: `${await freePort()}`,
  }
  const run = launch(process.execPath, ['tools/world.ts', `--inspect=${inspectPort}`, ...flags], { cwd: folder, env })
  /** Waits for a line that was not there before. */
  let from = 0
  const says = async (text: string) => {
    await until(
      () => run.heard.text.indexOf(text, from) >= 0 || run.child.exitCode !== null,
      () => `"${text}" in:\n${run.heard.text}`,
    )
    expect(run.heard.text.slice(from)).toContain(text)
    from = run.heard.text.indexOf(text, from) + text.length
  }
  const pidOf = (part: RegExp) =>
    processesOf(folder)
      .find((line) => part.test(line))
      ?.trim()
      .split(' ')[0]
  return { ...run, port, inspectPort, says, pidOf }
}

test('HO-01 npm run dev: a file changes → the server alone restarts, new migrations are applied, data and the other parts stay', async () => {
  const folder = copyOfTheTree()
  const { child, closed, says, pidOf, port, inspectPort } = await dev(folder, '--watch')
  await says('Ctrl-C stops everything')
  const parts = () => ({
    provider: pidOf(/idp\/src\/main\.ts/),
    database: readFileSync(join(folder, 'state/postgres/postmaster.pid'), 'utf8'),
  })
  const [before, firstServer] = [parts(), pidOf(/server\/src\/main\.ts/)]

  // The inspector is the server's alone, and on loopback alone.
  expect(
    processesOf(folder).filter((line) => line.includes('node --inspect=') || line.includes(`--inspect=127.0.0.1:${inspectPort} `)),
  ).toHaveLength(1)
  expect(await (await fetch(`http://127.0.0.1:${inspectPort}/json/list`)).json()).toMatchObject([
    { title: expect.stringContaining('main.ts') },
  ])

  const ids = join(folder, 'server/src/ground/kernel/ids.ts')
  const source = readFileSync(ids, 'utf8')
  writeFileSync(ids, `${source}\nthrow new Error('planted by a test')\n`)
  await says('restarting: server/src/ground/kernel/ids.ts changed')
  await says('the server ended with 1; waiting for the next change.')
  await says('planted by a test')

  writeFileSync(ids, source)
  writeFileSync(join(folder, 'db/migrations/9999-added.sql'), '-- room: kernel\ncreate table added_by_test (id int);\n')
  await says('changed')
  await says('the server is up again; migrated: 9999-added.sql')
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  expect(parts()).toEqual(before)
  expect(pidOf(/server\/src\/main\.ts/)).not.toBe(firstServer)

  child.kill('SIGINT')
  expect(await closed).toBe(0)
  expect(processesOf(folder)).toEqual([])
})

test.for([
  [['--inspekt'], 'npm start has no flag --inspekt. It knows --inspect[=port], --watch and --help.', 1],
  [['--help'], '--inspect[=port]', 0],
] as const)('HO-01 npm start -- %j: says %j and ends with %i', async ([flags, text, code]) => {
  const { closed, heard } = launch(process.execPath, ['tools/world.ts', ...flags], { cwd: project, env: outside() })
  expect(await closed).toBe(code)
  expect(heard.text).toContain(text)
})

const probe = `import { appendFileSync } from 'node:fs'
import pg from 'pg'
import { inject, test } from 'vitest'
import { cloneDatabase } from '../postgres.ts'

test('probe', async () => {
  const clone = await cloneDatabase()
  const client = new pg.Client({ connectionString: clone.ownerUrl })
  await client.connect()
  const { rows } = await client.query("select to_regclass('added_by_test')::text as added")
  await client.end()
  await clone.drop()
  appendFileSync('seen', \`\${new URL(inject('postgres').superuserUrl).port} \${rows[0].added}\\n\`)
})
`

test('HO-02 npm run test:watch: files change → reruns on the same PostgreSQL, a new migration is there, Ctrl-C leaves no process', async () => {
  const folder = copyOfTheTree()
  writeFileSync(join(folder, 'test/house/probe.db.test.ts'), probe)
  const env = { ...outside(), MARK_OF_THIS_TEST: folder }
  const { child, closed, heard } = launch(process.execPath, ['tools/watch.ts', 'house/probe'], { cwd: folder, env })
  const seen = () => {
    try {
      return readFileSync(join(folder, 'seen'), 'utf8').trim().split('\n')
    } catch {
      return []
    }
  }
  const runs = (count: number) =>
    until(
      () => seen().length === count && heard.text.split('Waiting for file changes').length > count,
      () => heard.text,
    )
  await runs(1)
  appendFileSync(join(folder, 'test/house/probe.db.test.ts'), '// a change\n')
  await runs(2)
  writeFileSync(join(folder, 'db/migrations/9999-added.sql'), '-- room: kernel\ncreate table added_by_test (id int);\n')
  await runs(3)
  const vitest = processesOf(folder)
    .find((line) => line.includes('tools/watch.ts'))!
    .trim()
    .split(' ')[0]
  const left = () => [...processesOf(folder), ...processesOf(`gatehouse-run-${vitest}-`)]
  expect(left().some((line) => line.includes('bin/postgres'))).toBe(true)
  const [port] = seen()[0]!.split(' ')
  expect(seen()).toEqual([`${port} null`, `${port} null`, `${port} added_by_test`])
  child.kill('SIGINT')
  expect(await closed).toBe(0)
  await until(
    () => left().length === 0,
    () => left().join('\n'),
    20,
  )
})
