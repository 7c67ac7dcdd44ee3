import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { readMe } from '@gatehouse/contract/users'
import { expect, inject, test } from 'vitest'
import { seeded, serverFixture } from '../../../../../test/live-server.ts'
import type { ClonedDatabase } from '../../../../../test/postgres.ts'
import { restoreInto, restoreTargets } from '../../../../../test/restore-targets.ts'
import { asSuperuser } from '../../../../../test/superuser.ts'
import { temporaryFolder } from '../../../../../test/temporary-folder.ts'
import { migrate } from '../migrate.ts'
import { backup } from './backup.ts'
import { sealLength, sealOf } from './backup-format.ts'
import { tablesOfPreparation } from './copied-tables.ts'
import { CopyRefused } from './copy-refused.ts'
import { restore } from './restore.ts'
import { isEmptyPrint, tablePrints } from './testing/table-prints.ts'

const folder = temporaryFolder('restore')
let good: Buffer
let before: Record<string, string>
const { fresh } = restoreTargets()
const live = serverFixture({}, async (live) => {
  await backup({ ownerUrl: live.clone.ownerUrl, to: join(folder, 'good') })
  good = await readFile(join(folder, 'good'))
  before = await tablePrints(live.clone.ownerUrl)
})

const appRole = () => inject('postgres').app.role
const into = (target: { ownerUrl: string }, bytes = good) =>
  writeFile(join(folder, 'tried'), bytes).then(() => restoreInto(target, join(folder, 'tried')))
const sql = ({ ownerUrl }: ClonedDatabase, text: string) =>
  asSuperuser(ownerUrl, async (client) => (await client.query(text)).rows as Record<string, unknown>[])
/** The text of a backup changed by somebody who knows the format. */
const forged = (change: (text: string) => string, bytes = good): Buffer => {
  const packed = gzipSync(Buffer.from(change(gunzipSync(bytes.subarray(0, -sealLength)).toString('latin1')), 'latin1'))
  return Buffer.concat([packed, sealOf(createHash('sha256').update(packed).digest('hex'))])
}
// Nothing listens there: an error of the file was found before the database was looked for.
const nowhere = { ownerUrl: 'postgres://nobody@127.0.0.1:1/none' }

test('a prepared database holds rows only where a restore replaces them', async () => {
  const prints = Object.entries(await tablePrints((await fresh()).ownerUrl))
  const filled = prints.filter(([, print]) => !isEmptyPrint(print)).map(([name]) => name)
  expect(filled.filter((name) => !tablesOfPreparation.has(name))).toEqual([])
  expect([...tablesOfPreparation].filter((name) => !prints.some(([table]) => table === name))).toEqual([])
})

test('HO-08 a file that was cut anywhere is refused before the database is looked for', async () => {
  const lengths = [...Array.from({ length: 40 }, (_, n) => Math.floor((good.length * n) / 40)), good.length - 101, good.length - 1]
  for (const length of lengths) {
    const refused = await into(nowhere, good.subarray(0, length)).catch((error: unknown) => error)
    expect(refused, `cut at ${length}`).toBeInstanceOf(CopyRefused)
    expect((refused as Error).message).toMatch(/not a (?:whole )?Gatehouse backup/)
  }
  await expect(into(nowhere, Buffer.concat([good, good]))).rejects.toThrow('damaged')
  await expect(into(nowhere, Buffer.concat([good, Buffer.from('x')]))).rejects.toThrow('something was added')
  await expect(into(nowhere)).rejects.toThrow('does not answer')
})

test('HO-08 a file with any bit flipped is refused before the database is looked for', async () => {
  const ends = Array.from({ length: sealLength + 16 }, (_, n) => n)
  const places = [
    ...ends,
    ...ends.map((n) => good.length - 1 - n),
    ...Array.from({ length: 60 }, (_, n) => Math.floor((good.length * n) / 60)),
  ]
  for (const place of places) {
    const flipped = Buffer.from(good)
    flipped[place]! ^= 1 << (place % 8)
    const refused = await into(nowhere, flipped).catch((error: unknown) => error)
    expect(refused, `flipped at ${place}`).toBeInstanceOf(CopyRefused)
    expect((refused as Error).message).toMatch(/not a (?:whole )?Gatehouse backup|damaged/)
  }
})

test('HO-08 what is no backup, or of a format we do not know, is one sentence and changes nothing', async () => {
  const target = await fresh()
  const untouched = await tablePrints(target.ownerUrl)
  const trials: [Buffer, string][] = [
    [Buffer.from(''), 'The file is not a Gatehouse backup.'],
    [Buffer.from('select 1;'), 'The file is not a Gatehouse backup.'],
    [forged(() => 'hello\n'), 'The file is not a Gatehouse backup'],
    [forged(() => '{}\n'), 'The file is not a Gatehouse backup.'],
    [forged((text) => text.replace('"version":2', '"version":7')), 'The backup is of format 7; this version of Gatehouse reads format 2.'],
    [forged((text) => text.slice(0, text.indexOf('\n') + 1)), 'it ends before its tables do'],
    [forged((text) => text.slice(0, -10)), 'it ends before its tables do'],
    [forged((text) => `${text}{"table":"more","rows":0}\n`), 'The backup changed while it was read'],
    [forged((text) => text.replace('"rows":23', '"rows":24')), 'The backup holds 24 rows of users, but the database took 23'],
    [forged((text) => text.replace('{"table":"users"', '{"table":"nobody"')), 'nobody stands where users should'],
    [
      forged((text) => text.replaceAll(seeded.user('alice'), '01890000-0000-7000-8000-000000000000').replace('01890000', '01890001')),
      'is violated',
    ],
    [forged((text) => text.replace('"columns":["id","username"', '"columns":["id","password"')), 'are not those of the database'],
    [forged((text) => text.replace('{"name":"users"', '{"name":"pg_authid"')), 'are not those of the database'],
  ]
  for (const [bytes, sentence] of trials) {
    const refused = await into(target, bytes).catch((error: unknown) => error)
    expect(refused, sentence).toBeInstanceOf(CopyRefused)
    expect((refused as Error).message).toContain(sentence)
  }
  expect(await tablePrints(target.ownerUrl)).toEqual(untouched)
  const missing = restore({ ...nowhere, appRole: appRole(), from: join(folder, 'none') })
  await expect(missing).rejects.toThrow(`${join(folder, 'none')} cannot be read: there is no such file or folder.`)
  await into(target)
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
})

test('HO-08 a database that is in use, or that a server is connected to, is not restored into', async () => {
  // A server that nobody asked for a while has let its connections go.
  await live.ask('alice', readMe)
  await expect(into(live.clone)).rejects.toThrow(`The role ${appRole()} is still connected to the database`)
  const target = await fresh()
  await into(target)
  await expect(into(target)).rejects.toThrow(
    'The database is in use: there are rows in audit_heads, audit_logs, node_authorities, organizations',
  )
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
})

test('HO-08 a database that is not prepared, of another version, or not ours is told apart', async () => {
  const target = await fresh()
  const one = '0006-installation.sql'
  await expect(
    into(
      target,
      forged((text) => text.replace(one, '9999-later.sql')),
    ),
  ).rejects.toThrow('lacks its migration 9999-later.sql')
  await sql(target, `insert into schema_migrations (name, hash) values ('9999-later.sql', 'x')`)
  await expect(into(target)).rejects.toThrow('it lacks migration 9999-later.sql; restore it with that version, then upgrade.')
  await sql(
    target,
    `delete from schema_migrations where name = '9999-later.sql'; update schema_migrations set hash = 'x' where name = '${one}'`,
  )
  await expect(into(target)).rejects.toThrow(`lacks its migration ${one}`)
  const bare = { ownerUrl: Object.assign(new URL(inject('postgres').superuserUrl), { pathname: '/template1' }).href }
  await expect(into(bare)).rejects.toThrow('is not prepared')
  await expect(backup({ ...bare, to: join(folder, 'bare') })).rejects.toThrow('is not prepared')
  const other = await fresh()
  await expect(into({ ownerUrl: other.appUrl })).rejects.toThrow('does not own the tables')
  await writeFile(join(folder, 'tried'), good)
  const asNobody = restore({ ownerUrl: other.ownerUrl, appRole: 'nobody_at_all', from: join(folder, 'tried') })
  await expect(asNobody).rejects.toThrow('not prepared for the role nobody_at_all')
  await sql(other, 'create sequence numbers')
  await expect(backup({ ownerUrl: other.ownerUrl, to: join(folder, 'numbers') })).rejects.toThrow('numbers is no plain table')
})

/** From here on, filling the audit log takes for ever. A restore asks no trigger, so it is a constraint that sleeps. */
const standStill = `
  create function stand_still() returns boolean language plpgsql as $$ begin perform pg_sleep(60); return true; end $$;
  alter table audit_logs add constraint stand_still check (stand_still())`
const asleep = `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
const moveOn = 'alter table audit_logs drop constraint stand_still; drop function stand_still()'

test('HO-08 killed half way, the database is as it was, and the next restore goes through', async () => {
  const target = await fresh()
  const untouched = await tablePrints(target.ownerUrl)
  await sql(target, standStill)
  const program = `import { restore } from ${JSON.stringify(join(import.meta.dirname, 'restore.ts'))}
                   await restore(JSON.parse(process.argv[1]))`
  const options = { ownerUrl: target.ownerUrl, appRole: appRole(), from: join(folder, 'good') }
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, JSON.stringify(options)], {
    cwd: join(import.meta.dirname, '../../../../..'),
    stdio: 'inherit',
  })
  await expect.poll(async () => (await sql(target, asleep)).length).toBe(1)
  child.kill('SIGKILL')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  // PostgreSQL notices that nobody is there when it next wants to say something; a minute of sleep is cut short here.
  await asSuperuser(target.ownerUrl, (client) => client.query(`select pg_terminate_backend(pid) from (${asleep}) s`))
  await sql(target, moveOn)
  expect(await tablePrints(target.ownerUrl)).toEqual(untouched)
  await into(target)
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
})

test('HO-08 a line that breaks half way is one sentence, and the database is as it was', async () => {
  const target = await fresh()
  const untouched = await tablePrints(target.ownerUrl)
  await sql(target, standStill)
  const refused = expect(into(target)).rejects.toThrow('The connection to the database broke; try again.')
  await expect.poll(async () => (await sql(target, asleep)).length).toBe(1)
  await sql(target, `select pg_terminate_backend(pid) from (${asleep}) s`)
  await refused
  await sql(target, moveOn)
  expect(await tablePrints(target.ownerUrl)).toEqual(untouched)
})

test('HO-08 a server that starts meanwhile waits until everything is there', async () => {
  const target = await fresh()
  await sql(target, standStill.replace('60', '0.3'))
  const restored = into(target)
  await expect.poll(async () => (await sql(target, asleep)).length).toBe(1)
  let seen: unknown
  const look = async (run: (text: string) => Promise<unknown>) => {
    seen = ((await run('select count(*)::integer as rows from audit_logs')) as { rows: unknown[] }).rows[0]
  }
  await migrate({ ownerUrl: target.ownerUrl, appRole: appRole(), also: look })
  const { tables } = await restored
  expect(seen).toEqual({ rows: tables.find(({ name }) => name === 'audit_logs')!.rows })
  await sql(target, moveOn)
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
})

test('HO-08 a table that somebody holds is not waited for long', async () => {
  const target = await fresh()
  await asSuperuser(target.ownerUrl, async (client) => {
    await client.query('begin')
    await client.query('select from users')
    await expect(into(target)).rejects.toThrow('Another process holds the tables of the database; stop it, then try again.')
    await client.query('rollback')
  })
  await into(target)
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
})
