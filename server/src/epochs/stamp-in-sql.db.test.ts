import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LiveServer, liveServer, seeded } from '../../../test/live-server.ts'
import { sql } from '../db/statement.ts'
import { newId } from '../kernel/ids.ts'
import { platformScope, stampOf } from './moment.ts'
import { readMoment } from './read-moment.ts'
import { stampInSql } from './stamp-in-sql.ts'

let live: LiveServer
beforeAll(async () => {
  live = await liveServer()
})
afterAll(() => live.stop())

const { org } = seeded
const tenants = [org.aurora, org.borealis, newId('organization'), null]
const stampsOf = () => sql(Exactly({ id: Nullable(Type.String()), stamp: Type.String() }))`
  select t.id, ${stampInSql('t.id')} as stamp from unnest(${tenants}::uuid[]) as t (id)`

const both = async () =>
  live.database.transaction('read', async (tx) => {
    const moment = await readMoment(
      tx,
      tenants.flatMap((id) => id ?? []),
    )
    const said = new Map((await tx.many(stampsOf())).map(({ id, stamp }) => [id, stamp]))
    expect(tenants.map((id) => said.get(id))).toEqual(tenants.map((id) => stampOf(moment, id)))
    return said
  })

test('TI-23 a statement says the stamp of a tenant, of one that never changed and of the platform as a moment does', async () => {
  const before = await both()
  expect(new Set(before.values()).size).toBe(tenants.length)
  await live.sql(`update organizations set name = name || '.' where id = $1`, [org.aurora])
  const after = await both()
  expect(tenants.filter((id) => after.get(id) !== before.get(id))).toEqual([org.aurora])
  // What moves the platform moves every tenant's, those included that never changed.
  await live.sql('update epochs set value = value + 1, stamp = gen_random_uuid() where id = $1', [platformScope])
  const moved = await both()
  expect(tenants.filter((id) => moved.get(id) !== after.get(id))).toEqual(tenants)
  await live.sql('delete from epochs')
  expect([...(await both()).values()]).toEqual(['- -', '- -', '- -', '-'])
})
