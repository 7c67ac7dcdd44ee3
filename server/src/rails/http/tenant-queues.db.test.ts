import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { decide } from '@gatehouse/contract/decisions'
import { createOrganization } from '@gatehouse/contract/organizations'
import { createProject, listProjects } from '@gatehouse/contract/projects'
import { readMe } from '@gatehouse/contract/users'
import pg from 'pg'
import { expect, test } from 'vitest'
import type { Database } from '#ground/db/database.ts'
import { signText } from '#people/principals/oidc/testing/local-issuer.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { platformChain } from '../audit/chain.ts'
import type { Bulkheads } from './tenant-database.ts'

// The transactions under way that change something, counted in the database that the product is given.
let [under_way, most_under_way] = [0, 0]
const counted = (database: Database): Database => ({
  ...database,
  transaction: async (mode, ...asked) => {
    if (mode === 'read') return database.transaction(mode, ...asked)
    under_way += 1
    most_under_way = Math.max(most_under_way, under_way)
    try {
      return await database.transaction(mode, ...asked)
    } finally {
      under_way -= 1
    }
  },
})
/** The control: a product whose tenants have no bulkheads. */
let has_bulkheads = true
const breakable = ({ queues, heldUp, ...rest }: Bulkheads): Bulkheads => ({
  ...rest,
  queues: (tenant, act) => (has_bulkheads ? queues(tenant, act) : act()),
  heldUp: (tenant, attempt) => (has_bulkheads ? heldUp(tenant, attempt) : attempt(() => 60_000)),
})
const live = serverFixture({
  policies: noRateLimits,
  parts: (parts) => ({ ...parts, database: counted(parts.database), bulkheads: breakable(parts.bulkheads) }),
})
const { org } = seeded

const create = (person: string, org_id: string, slug: string, key?: string) =>
  live.ask(person, createProject, {
    params: { org_id },
    body: { name: slug, slug },
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  })
const waitsForLocks = `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
/** By the role whose sessions they are: to others the database does not say what they wait for. */
const heldUp = () => asSuperuser(live.clone.appUrl, async (client) => (await client.query<{ count: number }>(waitsForLocks)).rows[0]!.count)

/** Somebody holds the ends of these chains, and does not let go of them. */
const holdingChains = async (chain_ids: readonly string[], during: () => Promise<void>): Promise<void> => {
  const client = new pg.Client({ connectionString: live.clone.ownerUrl, application_name: 'gatehouse-test' })
  await client.connect()
  try {
    await client.query('begin')
    const { rowCount } = await client.query('select from audit_heads where chain_id = any ($1) for update', [chain_ids])
    expect(rowCount).toBe(chain_ids.length)
    await during()
  } finally {
    await client.query('rollback')
    await client.end()
  }
}

/** Tenants of Alice's whose chains have begun: only such can be held. */
let made = 0
const tenantsOfAlice = async (count: number): Promise<string[]> => {
  const orgs: string[] = []
  for (let n = 0; n < count; n += 1) {
    made += 1
    const slug = `held-${made}`
    const created = await live.ask('ada', createOrganization, {
      body: { name: slug, slug, owner_user_id: seeded.user('alice'), reason: 'a tenant that is held up' },
    })
    expect(created.status).toBe(201)
    orgs.push(created.body.id)
  }
  return orgs
}

test.each([1, 3, 6])(
  'M5 HO-11 changes: %i tenants with ten requests each wait for their held audit chains → few connections wait, and others are answered',
  async (count) => {
    const tenants = await tenantsOfAlice(count)
    let waiting: Promise<{ status: number }[]> | undefined
    await holdingChains(tenants, async () => {
      most_under_way = 0
      waiting = Promise.all(
        tenants.flatMap((tenant) =>
          Array.from({ length: 10 }, (_, n) => create('alice', tenant, `project-${n}`, n % 2 ? `${tenant}-${n}` : undefined)),
        ),
      )
      await expect.poll(() => most_under_way, { timeout: 60_000 }).toBeGreaterThan(0)
      // Those that are held up give their connections back, and try again: two of all tenants at a time.
      await expect.poll(async () => under_way <= 2 && (await heldUp()) > 0, { timeout: 60_000 }).toBe(true)
      for (let n = 0; n < 3; n += 1) {
        expect((await create('bella', org.borealis, `meanwhile-${count}-${n}`)).status).toBe(201)
        expect((await live.ask('bella', listProjects, { params: { org_id: org.borealis } })).status).toBe(200)
        expect((await live.ask('bella', listOrganizationAuditLogs, { params: { org_id: org.borealis } })).status).toBe(200)
        const asked = { action: 'tenant.read', resource: { type: 'organization', id: org.borealis } } as const
        expect((await live.ask('bella', decide, { body: asked })).status).toBe(200)
        // The held tenants themselves can still be read.
        expect((await live.ask('alice', listProjects, { params: { org_id: tenants[0]! } })).status).toBe(200)
        expect(under_way).toBeLessThanOrEqual(2)
      }
      // One of each tenant, two that are lent, and one that others have asked for.
      expect(most_under_way).toBeLessThanOrEqual(count + 3)
    })
    expect((await waiting!).map(({ status }) => status)).toEqual(Array(10 * count).fill(201))
  },
)

test('HO-11 sign-in: twelve newcomers wait for the held chain of the platform → few connections wait, and others are answered', async () => {
  const newcomer = async (n: number) => {
    const claims = live.issuer.claims(Math.floor(Date.now() / 1000), { sub: `newcomer-${n}`, email: `newcomer-${n}@mail.example` })
    const headers = { authorization: `Bearer ${await signText(live.issuer.key, JSON.stringify(claims))}` }
    return live.ask(null, readMe, { headers })
  }
  const others = async () => {
    expect((await live.ask('bella', listProjects, { params: { org_id: org.borealis } })).status).toBe(200)
    expect((await live.ask('bella', readMe)).status).toBe(200)
  }
  await others()
  let [waiting, most]: [Promise<{ status: number }[]> | undefined, number] = [undefined, 0]
  await holdingChains([platformChain], async () => {
    waiting = Promise.all(Array.from({ length: 12 }, (_, n) => newcomer(n)))
    await expect.poll(heldUp, { timeout: 60_000 }).toBeGreaterThan(0)
    for (let n = 0; n < 5; n += 1) {
      await others()
      most = Math.max(most, await heldUp())
    }
  })
  await waiting
  expect(most).toBeLessThanOrEqual(3)
  expect((await newcomer(0)).status).toBe(200)
})

test('M5 HO-11 control: without bulkheads → three held tenants have every connection of the pool', async () => {
  const tenants = await tenantsOfAlice(3)
  let waiting: Promise<{ status: number }[]> | undefined
  has_bulkheads = false
  try {
    await holdingChains(tenants, async () => {
      waiting = Promise.all(tenants.flatMap((tenant) => Array.from({ length: 10 }, (_, n) => create('alice', tenant, `project-${n}`))))
      // All that the pool has are taken, and those who need one wait for it.
      await expect.poll(() => live.database.stats(), { timeout: 60_000 }).toMatchObject({ idle: 0, waiting: expect.any(Number) })
      await expect.poll(() => live.database.stats().waiting, { timeout: 60_000 }).toBeGreaterThan(0)
    })
    expect((await waiting!).map(({ status }) => status)).toEqual(Array(30).fill(201))
  } finally {
    has_bulkheads = true
  }
})
