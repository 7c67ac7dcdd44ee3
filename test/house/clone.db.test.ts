import pg from 'pg'
import { expect, test } from 'vitest'
import { cloneDatabase } from '../postgres.ts'

const ask = async (url: string, text: string): Promise<unknown[][]> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

test('each test gets a migrated database of its own, also when several ask at once', async () => {
  const clones = await Promise.all([cloneDatabase(), cloneDatabase(), cloneDatabase()])
  const names = await Promise.all(clones.map(({ ownerUrl }) => ask(ownerUrl, 'select current_database()')))
  expect(new Set(names.flat(2)).size).toBe(3)
  const [first, second] = clones
  await ask(first!.ownerUrl, 'create table left_behind ()')
  expect(await ask(second!.ownerUrl, "select to_regclass('left_behind')")).toEqual([[null]])
  expect((await ask(second!.appUrl, 'select count(*)::int from schema_migrations'))[0]![0]).toBeGreaterThan(0)
  await Promise.all(clones.map(({ drop }) => drop()))
  await expect(ask(first!.ownerUrl, 'select 1')).rejects.toThrow('does not exist')
})

test('the application owns no table and cannot touch an audit row', async () => {
  const { appUrl, drop } = await cloneDatabase()
  expect(await ask(appUrl, 'select tablename from pg_tables where tableowner = current_user')).toEqual([])
  for (const text of ['update audit_logs set action = action', 'delete from audit_logs', 'truncate audit_logs'])
    await expect(ask(appUrl, text)).rejects.toThrow('permission denied')
  await drop()
})
