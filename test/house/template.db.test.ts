import pg from 'pg'
import { expect, test } from 'vitest'
import { readMigrations } from '../../server/src/ground/db/migrate.ts'
import { mirrorCode } from '../../server/src/process/prepare-database.ts'
import { cloneDatabase } from '../postgres.ts'
import { templateKey } from '../template.ts'

test('HO-02 test template: cached or not → it holds the migrations on disk and the rows that the code mirrors', async () => {
  const clone = await cloneDatabase()
  const client = new pg.Client({ connectionString: clone.ownerUrl })
  await client.connect()
  const { rows } = await client.query('select name, hash from schema_migrations order by name')
  expect(rows).toEqual((await readMigrations()).map(({ name, hash }) => ({ name, hash })))
  const mirrored = async () => {
    const tables = ['role_definitions', 'role_definition_versions', 'role_permissions', 'policy_definitions', 'policy_values']
    const rows: unknown[] = []
    for (const table of tables) rows.push((await client.query(`select * from ${table} order by 1, 2`)).rows)
    return rows
  }
  const before = await mirrored()
  await mirrorCode((text, values) => client.query(text, values))
  expect(await mirrored()).toEqual(before)
  await client.end()
  await clone.drop()
})

test('HO-02 test template: its key → steady for the same source, another for another PostgreSQL', async () => {
  expect(await templateKey()).toBe(await templateKey())
  expect(await templateKey(['18'])).not.toBe(await templateKey(['15']))
})
