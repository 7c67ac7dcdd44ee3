import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { decide, decideBatch } from '@gatehouse/contract/decisions'
import { listOrganizationMembers } from '@gatehouse/contract/members'
import { readOrganization, resumeOrganization, suspendOrganization } from '@gatehouse/contract/organizations'
import { createProject, listProjects, readProject } from '@gatehouse/contract/projects'
import { expect, test } from 'vitest'
import type { Database } from '#ground/db/database.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { type TenantTurns, tenantTurns } from './tenant-turns.ts'

const { org, project } = seeded

// Nobody's turn comes unless the test lets it: how busy the machine is changes no answer.
const rests: (() => void)[] = []
const frozen = tenantTurns(() => new Promise<void>((resolve) => rests.push(resolve)))
const letOneTurn = () => {
  for (const over of rests.splice(0)) over()
}
/** The control: turns by request, so that nobody ever queues. */
let is_by_request = false
let requests = 0
/** Others pay by request in any case: on a busy machine one question may use up a share. */
const payerOf = (tenant: string) => {
  if (!is_by_request && tenant === org.aurora) return tenant
  requests += 1
  return `request ${requests}`
}
const breakable: TenantTurns = {
  mayBorrow: frozen.mayBorrow,
  each: (items, limit_ms, tenantOf, make) => frozen.each(items, limit_ms, (item) => payerOf(tenantOf(item)), make),
  enter: (tenant, limit_ms, cost_ms) => frozen.enter(payerOf(tenant), limit_ms, cost_ms),
  // The noisy tenant alone pays: what others take on a busy machine must not use up their share.
  charge: (tenant, ms) => frozen.charge(tenant, tenant === org.aurora ? ms : 0),
  payer: (tenant, limit_ms) => {
    const payer = frozen.payer(payerOf(tenant), limit_ms)
    if (tenant === org.aurora && !is_by_request) return payer
    return { charge: () => {}, chargeStatement: () => {}, each: async (items, make) => items.map(make) }
  },
}

let begun = 0
const counted = (database: Database): Database => ({
  ...database,
  transaction: (mode, within, options) => {
    // Those of requests have a payer; what the process does for itself has none.
    if (options?.payer) begun += 1
    return database.transaction(mode, within, options)
  },
})
let noisy_machine: Awaited<ReturnType<typeof oauthClient>>
let noisy_token: string
let other_machine: Awaited<ReturnType<typeof machineWithSecret>>
const live = serverFixture(
  {
    policies: noRateLimits,
    parts: (parts) => ({ ...parts, database: counted(parts.database), bulkheads: { ...parts.bulkheads, turns: breakable } }),
  },
  async (started) => {
    noisy_machine = await oauthClient(started)
    noisy_token = await noisy_machine.token()
    other_machine = await machineWithSecret(started, { org_id: org.borealis, project_id: project.borealis })
  },
)
const params = { org_id: org.aurora }
const allowed = { action: 'tenant.read', resource: { type: 'organization', id: org.aurora } } as const
let made = 0
const create = () => {
  made += 1
  return live.ask('alice', createProject, { params, body: { name: 'Turn', slug: `turn-${made}` } })
}
const exported = () => live.ask('alice', listOrganizationAuditLogs, { params, query: { format: 'jsonl' } })

/** A machine of the noisy tenant by a token: what it asks without a place, or in one that is not its own, is its tenant's. */
const asMachine = () => ({ authorization: `Bearer ${noisy_token}` })

/** Of each kind of operation one that the noisy tenant asks. */
const kinds: Record<string, () => Promise<{ status: number }>> = {
  'a list': () => live.ask('alice', listOrganizationMembers, { params }),
  'a read': () => live.ask('alice', readProject, { params: { project_id: project.aurora } }),
  'an audit list': () => live.ask('alice', listOrganizationAuditLogs, { params }),
  'an export': exported,
  'a change': create,
  'a decision': () => live.ask('alice', decide, { body: allowed }),
  'a batch': () => live.ask('alice', decideBatch, { body: { questions: Array(50).fill(allowed) } }),
  'an introspection': () => noisy_machine.introspect({ token: noisy_token }),
  'an introspection by a token': () => postForm(live, '/oauth2/introspect', { token: noisy_token }, asMachine()),
  'an end of a token by its client': () => noisy_machine.revoke({ token: 'none of ours' }),
  'a question of a machine about a place of strangers': () =>
    live.ask(null, decide, { body: { action: 'project.read', resource: { type: 'project', id: project.borealis } }, headers: asMachine() }),
  'a token': () => noisy_machine.machine_ask(),
  'a token by a key of the caller’s': () => {
    made += 1
    return noisy_machine.machine_ask({}, { 'idempotency-key': `turn-${made}` })
  },
  'a refused token': () => noisy_machine.machine_ask({ audience: 'nobody' }),
}
const tokens = async () =>
  (await live.sql<{ n: number }>('select count(*)::int as n from issued_tokens where org_id = $1', [org.aurora]))[0]!.n
const othersAreAnswered = async () => {
  const borealis = { org_id: org.borealis }
  expect((await live.ask('bella', listProjects, { params: borealis })).status).toBe(200)
  const asked = { action: 'tenant.read', resource: { type: 'organization', id: org.borealis } } as const
  expect((await live.ask('bella', decide, { body: asked })).status).toBe(200)
  expect((await other_machine.ask()).status).toBe(200)
}

test.each(Object.entries(kinds))(
  'M5 HO-10 %s: its tenant has used up its share → it waits for a turn, without a connection, and others are answered',
  async (name, ask) => {
    frozen.charge(org.aurora, 1e9)
    const before = begun
    const tokens_before = await tokens()
    let answered = 0
    const all = Promise.all(
      Array.from({ length: 3 }, async () => {
        const { status } = await ask()
        answered += 1
        return status
      }),
    )
    await expect.poll(() => rests.length, { timeout: 60_000 }).toBeGreaterThan(0)
    await othersAreAnswered()
    // One of others' list; nothing of the three.
    expect(begun - before).toBe(1)
    expect(await tokens()).toBe(tokens_before)
    expect(answered).toBe(0)
    const passing = setInterval(letOneTurn, 1)
    const statuses = await all.finally(() => clearInterval(passing))
    expect(new Set(statuses)).toEqual(new Set([name === 'a refused token' ? 400 : statuses[0]! < 300 ? statuses[0] : 200]))
  },
)

test('M5 HO-11 operator: a tenant has used up its share and fills its queue → whoever is of the platform reads, judges and suspends it', async () => {
  frozen.charge(org.aurora, 1e9)
  const noisy = Promise.all(Array.from({ length: 3 }, () => kinds['a list']!()))
  await expect.poll(() => rests.length, { timeout: 60_000 }).toBeGreaterThan(0)
  const waits = rests.length
  // One who is of the platform has a turn of their own. Without that these would wait for the tenant's, which does not come.
  const answered = Promise.all([
    live.ask('ada', readOrganization, { params }),
    live.ask('ada', decide, { body: allowed }),
    live.ask('ada', suspendOrganization, { params, body: { reason: 'too noisy' } }),
  ])
  expect((await answered).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(rests.length).toBe(waits)
  expect((await live.ask('ada', resumeOrganization, { params, body: { reason: 'quiet again' } })).status).toBe(200)
  const passing = setInterval(letOneTurn, 1)
  await noisy.finally(() => clearInterval(passing))
})

test('M5 control: turns by request → a tenant at its limits waits for nobody', async () => {
  is_by_request = true
  try {
    frozen.charge(org.aurora, 1e9)
    expect((await kinds['a list']!()).status).toBe(200)
    expect((await kinds['a batch']!()).status).toBe(200)
    expect((await kinds['an export']!()).status).toBe(200)
    expect((await kinds['a token']!()).status).toBe(200)
  } finally {
    is_by_request = false
  }
})
