import { setTimeout as sleep } from 'node:timers/promises'
import { createOrganizationBinding, endOrganizationBinding } from '@gatehouse/contract/role-bindings'
import { previewOrganizationUpgrade, upgradeOrganizationRole } from '@gatehouse/contract/role-upgrades'
import { updateOrganizationRole } from '@gatehouse/contract/roles'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { crowdFixture, type Somebody } from '../../../../test/crowd.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { bindings, members, roles, scopedAsk } from '../../../../test/scoped-roles.ts'
import { seededNumber } from '../../../../test/sweep.ts'

let urls: [string, string]
const live = serverFixture({ policies: noRateLimits }, async (live) => {
  urls = [live.url, (await live.replica()).url]
})
const askIn = scopedAsk(live)
const people = crowdFixture(live, 24)

const { org, project, user } = seeded
const because = { reason: 'because' }
type Tier = 'tenant' | 'project'
const tiers = {
  tenant: { scope: org.aurora, path: `/api/v1/orgs/${org.aurora}`, owner: 'alice', key: 'tenant.read', assign: 'tenant.role.assign' },
  project: {
    scope: project.aurora,
    path: `/api/v1/projects/${project.aurora}`,
    owner: 'amara',
    key: 'storage.read',
    assign: 'project.role.assign',
  },
}
let names = 0
const define = async (tier: Tier, permissions: string[]): Promise<string> => {
  names += 1
  const { owner } = tiers[tier]
  const { status, body } = await askIn(tier, owner, roles.create, { body: { name: `raced-${names}`, permissions } })
  expect(status).toBe(201)
  return body.id
}
/** The servers take turns. */
const on = (at: number) => urls[at % 2]
const bind = (person: string, tier: Tier, principal_id: string, role_id: string, at = 0, headers = {}) =>
  askIn(tier, person, bindings.create, { body: { principal_type: 'user', principal_id, role_id }, headers, base: on(at) })
const said = ({ status, body }: Answered) => [status, body?.details?.detail ?? body?.code].filter((part) => part !== undefined).join(' ')
/** The tenant's chain is the order in which its changes happened: its lock is held until each is kept. */
const told = (since: number) =>
  live.sql<{ seq: number; action: string; actor_id: string; correlation_id: string; metadata: Record<string, unknown> }>(
    `select seq::int as seq, action, actor_id, correlation_id, metadata from audit_logs
      where tenant_id = $1 and result = 'success' and seq > $2 order by seq`,
    [org.aurora, since],
  )
const lastSeq = async () =>
  (await live.sql<{ seq: number }>('select coalesce(max(seq), 0)::int as seq from audit_logs where tenant_id = $1', [org.aurora]))[0]!.seq
let starts = 0
/** Starts spread over a few milliseconds, so that the one change meets the others at every stage. */
const soon = async <T>(ask: () => Promise<T>): Promise<T> => {
  starts += 1
  await sleep(seededNumber(`races ${starts}`) % 25)
  return ask()
}

describe.for(['tenant', 'project'] as const)('publishers of a role of a %s', (tier) => {
  const { owner, key } = tiers[tier]
  const publish = (role: string, expected_version: number, reason: string, at: number) =>
    askIn(tier, owner, roles.update, { params: { role_id: role }, body: { permissions: [key], expected_version, reason }, base: on(at) })
  const versionsOf = (role: string) =>
    live.sql<{ version: number; reason: string | null }>(
      'select version, reason from role_definition_versions where role_definition_id = $1 order by version',
      [role],
    )

  test('RP-11 of twenty who expect the same version, one publishes the next', async () => {
    const role = await define(tier, [key])
    for (let version = 1; version <= 4; version += 1) {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => publish(role, version, `${version} by ${at}`, at)))
      expect(answers.map(said).sort()).toEqual(['200', ...Array(19).fill('409 version_conflict')])
      const winner = answers.findIndex(({ status }) => status === 200)
      expect((await versionsOf(role)).at(-1)).toEqual({ version: version + 1, reason: `${version} by ${winner}` })
    }
    expect((await versionsOf(role)).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5])
  })

  test('RP-11 twenty who ask again until they are heard lose nothing: versions 2 to 21, each by one of them', async () => {
    const role = await define(tier, [key])
    const insist = async (at: number): Promise<number> => {
      let expected = 1
      for (;;) {
        const answer = await publish(role, expected, `by ${at}`, at)
        if (answer.status === 200) return answer.body.version
        expect(said(answer)).toBe('409 version_conflict')
        expected = Number(answer.body.details?.version)
      }
    }
    const got = await Promise.all(Array.from({ length: 20 }, (_, at) => insist(at)))
    const versions = await versionsOf(role)
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, at) => at + 1))
    expect(got.map((version) => versions[version - 1]!.reason)).toEqual(got.map((_, at) => `by ${at}`))
    expect((await askIn(tier, owner, roles.read, { params: { role_id: role } })).body.version).toBe(21)
  })
})

describe.for(['tenant', 'project'] as const)('authority in a %s, lost while it is used', (tier) => {
  const { owner, key, assign, scope } = tiers[tier]
  const join = async (where: Tier, { id }: Somebody) =>
    live.sql(
      `insert into ${where}_memberships (id, ${where}_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now()) on conflict do nothing`,
      [tiers[where].scope, id],
    )
  const losses: [string, (grantor: Somebody, binding: string, giver: string) => Promise<Answered>][] = [
    ['his binding ends', (_, binding) => askIn(tier, owner, bindings.end, { params: { binding_id: binding }, body: because, base: on(1) })],
    ['he is removed', ({ id }) => askIn(tier, owner, members.remove, { params: { user_id: id }, body: because, base: on(1) })],
    [
      'he is removed from the organization',
      ({ id }) => askIn('tenant', 'alice', members.remove, { params: { user_id: id }, body: because, base: on(1) }),
    ],
    [
      'his role is disabled',
      (_g, _b, giver) =>
        askIn(tier, owner, roles.disable, { params: { role_id: giver }, body: { mode: 'block_all_now', ...because }, base: on(1) }),
    ],
    [
      'his role is deleted',
      (_g, _b, giver) => askIn(tier, owner, roles.remove, { params: { role_id: giver }, body: because, base: on(1) }),
    ],
  ]

  test.for(losses)('RP-19 %s: what he gave, he gave before', async ([, lose]) => {
    const [grantor, ...others] = people as [Somebody, ...Somebody[]]
    let [before, after] = [0, 0]
    for (let round = 0; round < 3; round += 1) {
      for (const where of ['tenant', 'project'] as const) await join(where, grantor)
      const [giver, gift] = [await define(tier, [key, assign]), await define(tier, [key])]
      const binding = (await bind(owner, tier, grantor.id, giver)).body.id
      const since = await lastSeq()
      const asked = others.slice(0, 10).map(({ id }) => ({ id, request: newId('correlation') as string }))
      const give = (at: number) => bind(grantor.subject, tier, asked[at]!.id, gift, at, { 'x-request-id': asked[at]!.request })
      // One comes before it for certain and one after it; the others meet it at every stage.
      const first = await give(0)
      const lost = soon(() => lose(grantor, binding, giver))
      const among = await Promise.all(asked.slice(1, -1).map((_, at) => soon(() => give(at + 1))))
      expect((await lost).status).toBeLessThan(300)
      const answers = [first, ...among, await give(asked.length - 1)]
      // Each is allowed or refused for want of authority; never half, never another way.
      for (const answer of answers)
        expect(said(answer)).toMatch(/^(201|403 insufficient_permissions|404 (organization|project)_not_found)$/)
      const rows = await told(since)
      const end = rows.findIndex(({ actor_id }) => actor_id !== grantor.id)
      const given = rows.map(({ actor_id }, at) => (actor_id === grantor.id ? at : -1)).filter((at) => at >= 0)
      expect(given.filter((at) => at > end)).toEqual([])
      // What the answers say is what the record says, and what the table holds.
      const allowed = asked.filter((_, at) => answers[at]!.status === 201)
      expect(given.map((at) => rows[at]!.correlation_id).sort()).toEqual(allowed.map(({ request }) => request).sort())
      const active = await live.sql<{ principal_id: string }>(
        `select principal_id from ${tier}_role_bindings where ${tier}_id = $1 and role_definition_id = $2 and deleted_at is null`,
        [scope, gift],
      )
      expect(active.map(({ principal_id }) => principal_id).sort()).toEqual(allowed.map(({ id }) => id).sort())
      before += allowed.length
      after += answers.length - allowed.length
    }
    expect(before).toBeGreaterThanOrEqual(3)
    expect(after).toBeGreaterThanOrEqual(3)
  })
})

describe.for(['tenant', 'project'] as const)('assigning in a %s against the end of the role', (tier) => {
  const { owner, key } = tiers[tier]
  const ends: [string, RegExp, (role: string) => Promise<Answered>][] = [
    [
      'disable',
      /^409 role_not_assignable$/,
      (role) => askIn(tier, owner, roles.disable, { params: { role_id: role }, body: { mode: 'block_all_now', ...because }, base: on(1) }),
    ],
    [
      'delete',
      /^404 role_not_found$/,
      (role) => askIn(tier, owner, roles.remove, { params: { role_id: role }, body: because, base: on(1) }),
    ],
  ]
  const boundTo = async (role: string) =>
    (
      await live.sql<{ principal_id: string }>(
        `select principal_id from ${tier}_role_bindings where role_definition_id = $1 and deleted_at is null order by 1`,
        [role],
      )
    ).map(({ principal_id }) => principal_id)

  test.for(ends)('RP-13 %s: assigned before it, or refused', async ([, refused, endRole]) => {
    let [before, after] = [0, 0]
    for (let round = 0; round < 4; round += 1) {
      const role = await define(tier, [key])
      const assign = (at: number) => bind(owner, tier, people[at]!.id, role, at)
      // One comes before it for certain and one after it; the others meet it at every stage.
      const first = await assign(0)
      const ended = soon(() => endRole(role)).then(async ({ status }) => ({ status, bound: await boundTo(role) }))
      const among = await Promise.all(people.slice(1, 11).map((_, at) => soon(() => assign(at + 1))))
      const { status, bound } = await ended
      const answers = [first, ...among, await assign(11)]
      expect(status).toBeLessThan(300)
      // Nothing came after the answer that it has ended.
      expect(await boundTo(role)).toEqual(bound)
      const made = people.slice(0, 12).filter((_, at) => answers[at]!.status === 201)
      expect(made.map(({ id }) => id).sort()).toEqual(bound)
      for (const answer of answers.filter(({ status: each }) => each !== 201)) expect(said(answer)).toMatch(refused)
      before += made.length
      after += answers.length - made.length
    }
    expect(before).toBeGreaterThanOrEqual(4)
    expect(after).toBeGreaterThanOrEqual(4)
  })

  test('RP-08 a built-in role that the platform disables: assigned before it, or refused', async () => {
    const name = `${tier}_viewer`
    const [{ id: role }] = (await live.sql<{ id: string }>('select id from role_definitions where name = $1 and is_builtin', [name])) as [
      { id: string },
    ]
    const change = (to: string, body: object) => live.call('ada', 'POST', `/api/v1/admin/roles/${role}/${to}`, { body }, on(1))
    const mine = async () => (await boundTo(role)).filter((id) => people.some((person) => person.id === id))
    for (let round = 0; round < 4; round += 1) {
      await live.sql(
        `update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where role_definition_id = $1 and principal_id = any($2) and deleted_at is null`,
        [role, people.map(({ id }) => id)],
      )
      const ended = soon(() => change('disable', { mode: 'block_all_now', ...because })).then(async ({ status }) => ({
        status,
        bound: await mine(),
      }))
      const answers = await Promise.all(people.slice(0, 10).map(({ id }, at) => soon(() => bind(owner, tier, id, role, at))))
      const { status, bound } = await ended
      expect(status).toBe(200)
      expect(await mine()).toEqual(bound)
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(bound.length)
      for (const answer of answers.filter((each) => each.status !== 201)) expect(said(answer)).toBe('409 role_not_assignable')
      expect((await change('enable', because)).status).toBe(200)
    }
  })
})

describe('a bulk upgrade among other changes', () => {
  const { owner, key } = tiers.tenant
  const body = { from_version: 1, to_version: 2 }

  test('RP-18 two at once: one moves all, the other is told that something has moved', async () => {
    for (let round = 0; round < 4; round += 1) {
      const role = await define('tenant', [key])
      for (const { id } of people.slice(0, 5)) await bind(owner, 'tenant', id, role)
      await live.ask(owner, updateOrganizationRole, {
        params: { org_id: org.aurora, role_id: role },
        body: { permissions: ['tenant.user.read'], expected_version: 1, ...because },
      })
      const { body: seen } = await live.ask(owner, previewOrganizationUpgrade, { params: { org_id: org.aurora, role_id: role }, body })
      const move = (at: number) =>
        live.ask(owner, upgradeOrganizationRole, {
          params: { org_id: org.aurora, role_id: role },
          body: { ...body, preview_hash: seen.preview_hash, ...because },
          base: on(at),
        })
      const answers = await Promise.all([move(0), move(1), move(0), move(1)])
      expect(answers.map(said).sort()).toEqual(['200', ...Array(3).fill('409 preview_outdated')])
      expect(answers.find(({ status }) => status === 200)!.body).toEqual({ moved: 5 })
      expect(await live.sql('select from tenant_role_bindings where role_definition_id = $1 and deleted_at is null', [role])).toHaveLength(
        5,
      )
    }
  })

  test('RP-18 against leaving and binding: what it says it moved is what it moved', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 6; round += 1) {
      const role = await define('tenant', [key])
      for (const { id } of people.slice(0, 5)) await bind(owner, 'tenant', id, role)
      await live.ask(owner, updateOrganizationRole, {
        params: { org_id: org.aurora, role_id: role },
        body: { permissions: ['tenant.user.read'], expected_version: 1, ...because },
      })
      const { body: seen } = await live.ask(owner, previewOrganizationUpgrade, { params: { org_id: org.aurora, role_id: role }, body })
      const move = () =>
        live.ask(owner, upgradeOrganizationRole, {
          params: { org_id: org.aurora, role_id: role },
          body: { ...body, preview_hash: seen.preview_hash, ...because },
          base: on(1),
        })
      const leave = () =>
        live.ask(owner, endOrganizationBinding, {
          params: { org_id: org.aurora, binding_id: seen.changes[0]!.binding_id },
          body: because,
          base: on(0),
        })
      // In the first two rounds one comes before the other for certain.
      const orders = [
        async () => [said(await move()), said(await leave())],
        async () => [said(await leave()), said(await move())].reverse(),
      ]
      const together = async () => Promise.all([soon(move).then(said), soon(leave).then(said)])
      const [upgrade, end] = await (orders[round] ?? together)()
      outcomes.add(`${upgrade} / ${end}`)
      const rows = await live.sql<{ version: number; n: number }>(
        `select v.version, count(*)::int as n from tenant_role_bindings b join role_definition_versions v on v.id = b.role_version_id
          where b.role_definition_id = $1 and b.deleted_at is null group by 1`,
        [role],
      )
      // Either all five moved and there was no such binding left to end, or one ended first and nothing moved.
      if (upgrade === '200') expect([end, rows]).toEqual(['404 binding_not_found', [{ version: 2, n: 5 }]])
      else expect([upgrade, end, rows]).toEqual(['409 preview_outdated', '204', [{ version: 1, n: 4 }]])
    }
    expect(outcomes.size).toBe(2)
  })
})

test('RP-22 twenty bind two versions of one role at once: one of them holds in the end', async () => {
  const { owner, key } = tiers.tenant
  const role = await define('tenant', [key])
  await live.ask(owner, updateOrganizationRole, {
    params: { org_id: org.aurora, role_id: role },
    body: { permissions: ['tenant.user.read'], expected_version: 1, ...because },
  })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      live.ask(owner, createOrganizationBinding, {
        params: { org_id: org.aurora },
        body: { principal_type: 'user', principal_id: user('arne'), role_id: role, version: 1 + (at % 2) },
        base: on(at >> 1),
      }),
    ),
  )
  for (const answer of answers) expect(said(answer)).toMatch(/^(201|409 binding_already_exists)$/)
  const rows = await live.sql<{ delete_reason: string | null }>(
    'select delete_reason from tenant_role_bindings where role_definition_id = $1',
    [role],
  )
  expect(rows.filter(({ delete_reason }) => delete_reason === null)).toHaveLength(1)
  expect(rows).toHaveLength(answers.filter(({ status }) => status === 201).length)
})
