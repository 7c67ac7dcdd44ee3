import { createProject, listProjects } from '@gatehouse/contract/projects'
import { expect, test } from 'vitest'
import { holdingChain } from '../../../test/holding-chain.ts'
import { noRateLimits, seeded, serverFixture } from '../../../test/live-server.ts'
import { asSuperuser } from '../../../test/superuser.ts'
import type { Database } from '../db/database.ts'

// The transactions under way, counted in the database that the product is given.
let under_way = 0
const counted = (database: Database): Database => ({
  ...database,
  transaction: async (...asked) => {
    under_way += 1
    try {
      return await database.transaction(...asked)
    } finally {
      under_way -= 1
    }
  },
})
const live = serverFixture({ policies: noRateLimits, parts: (parts) => ({ ...parts, database: counted(parts.database) }) })
const { org } = seeded

const create = (person: string, org_id: string, slug: string) =>
  live.ask(person, createProject, { params: { org_id }, body: { name: slug, slug } })
const isHeldUp = `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
/** By the role whose sessions they are: to others the database does not say what they wait for. */
const heldUp = () => asSuperuser(live.clone.appUrl, async (client) => (await client.query<{ count: number }>(isHeldUp)).rows[0]!.count)

test('M5 HO-11 a change: ten requests of one tenant wait for its held audit chain → the pool is not filled, and another tenant is answered', async () => {
  // A chain must have begun before somebody can hold it.
  expect((await create('alice', org.aurora, 'first')).status).toBe(201)
  let waiting: Promise<{ status: number }[]> | undefined
  await holdingChain(live, org.aurora, async () => {
    waiting = Promise.all(Array.from({ length: 10 }, (_, n) => create('alice', org.aurora, `held-${n}`)))
    await expect.poll(async () => await heldUp(), { timeout: 60_000 }).toBe(4)
    expect(under_way).toBe(4)
    expect((await create('bella', org.borealis, 'meanwhile')).status).toBe(201)
    expect((await live.ask('bella', listProjects, { params: { org_id: org.borealis } })).status).toBe(200)
    expect(under_way).toBe(4)
  })
  expect((await waiting!).map(({ status }) => status)).toEqual(Array(10).fill(201))
})
