import { listOrganizationMembers, listProjectMembers, removeOrganizationMember, removeProjectMember } from '@gatehouse/contract/members'
import { appointProjectOwner } from '@gatehouse/contract/role-bindings'
import { disableUser, enableUser } from '@gatehouse/contract/users'
import { beforeAll, describe, expect, test } from 'vitest'
import { fixedId, newId } from '#ground/kernel/ids.ts'
import { because, bindingsOn, nextName, nobody, said, tiers } from '../../../../test/binding-scene.ts'
import { crowdFixture } from '../../../../test/crowd.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { bindings, members, roles, scopedAsk } from '../../../../test/scoped-roles.ts'

const live = serverFixture({ policies: noRateLimits })
const askIn = scopedAsk(live)
const people = crowdFixture(live, 13)
const { bind, bound, cleared, define, end, permissionsOf } = bindingsOn(live, people)

const { org, project, user } = seeded

describe.for(['tenant', 'project'] as const)('a binding in a %s', (tier) => {
  const { owner, path, scope } = tiers[tier]
  const [small, large] = tier === 'tenant' ? ['tenant.read', 'tenant.billing.write'] : ['storage.read', 'storage.bucket.manage']
  const assign = `${tier}.role.assign`
  beforeAll(() => cleared(tier))
  /** One of the other tenant, or of its project. */
  const foreignRole = async (): Promise<{ id: string; name: string }> => {
    const [person, there] = tier === 'tenant' ? (['bella', org.borealis] as const) : (['berta', project.borealis] as const)
    const { status, body } = await live.call(person, 'POST', `${path.replace(scope, there)}/roles`, {
      body: { name: nextName(), permissions: [small] },
    })
    expect(status).toBe(201)
    return body
  }

  test('RP-21 needs an active membership of the scope, counts while it lasts, and ends with it', async () => {
    const role = await define(tier, nextName(), [large])
    expect(said(await bind(owner, tier, user('bella'), { role_id: role }))).toBe(
      tier === 'tenant' ? '409 not_tenant_member' : '409 not_project_member',
    )
    expect(said(await bind(owner, tier, nobody, { role_id: role }))).toBe(
      tier === 'tenant' ? '409 not_tenant_member' : '409 not_project_member',
    )
    const { id, subject } = people[tier === 'tenant' ? 11 : 12]!
    const made = await bind(owner, tier, id, { role_id: role })
    expect(made.body).toMatchObject({
      principal_type: 'user',
      principal_id: id,
      role_id: role,
      version: 1,
      created_by: user(owner),
      expires_at: null,
    })
    expect(await permissionsOf(subject, tier)).toContain(large)
    const left = await askIn(tier, owner, members.remove, { params: { user_id: id }, body: { reason: 'goes' } })
    expect(left.status).toBe(204)
    expect(await live.sql(`select deleted_at, deleted_by, delete_reason from ${tier}_role_bindings where id = $1`, [made.body.id])).toEqual(
      [{ deleted_at: expect.any(Date), deleted_by: user(owner), delete_reason: 'goes' }],
    )
    const [membership] = await live.sql(`select deleted_at from ${tier}_memberships where ${tier}_id = $1 and user_id = $2`, [scope, id])
    expect(
      await live.sql(`select from ${tier}_role_bindings where id = $1 and deleted_at = $2`, [made.body.id, membership!.deleted_at]),
    ).toHaveLength(1)
    // Coming back restores nothing.
    await live.sql(`insert into ${tier}_memberships (id, ${tier}_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())`, [
      scope,
      id,
    ])
    expect(await permissionsOf(subject, tier)).not.toContain(large)
    if (tier === 'tenant') return
    // A service account takes no role before there are any.
    const robot = { principal_type: 'service_account', principal_id: nobody, role_id: role } as const
    expect(said(await askIn(tier, owner, bindings.create, { body: robot }))).toBe('409 role_not_assignable')
  })

  test('RP-22 one per principal and role: another version takes its place, the same one is refused', async () => {
    const role = await define(tier, nextName(), [small], [small, large])
    const { id } = people[3]!
    const first = await bind(owner, tier, id, { role_id: role }, { version: 1 })
    expect(said(await bind(owner, tier, id, { role_id: role }, { version: 1 }))).toBe('409 binding_already_exists')
    const second = await bind(owner, tier, id, { role_id: role })
    expect(second.body.version).toBe(2)
    const rows = await live.sql<{ id: string; delete_reason: string | null }>(
      `select id, deleted_at, created_at, delete_reason from ${tier}_role_bindings where role_definition_id = $1 order by created_at`,
      [role],
    )
    expect(rows).toMatchObject([
      { id: first.body.id, delete_reason: 'another version' },
      { id: second.body.id, delete_reason: null },
    ])
    // In one transaction: the one ends at the instant at which the other begins.
    expect(rows[0]).toMatchObject({ deleted_at: (rows[1] as unknown as { created_at: Date }).created_at })
    await expect(
      live.sql(
        `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
         select gen_random_uuid(), $1, 'user', $2, id, now() from role_definition_versions where role_definition_id = $3 and version = 1`,
        [scope, id, role],
      ),
    ).rejects.toMatchObject({ constraint: `${tier}_role_bindings_one_per_role` })
  })

  test('RP-22 with the same idempotency key the first answer comes again', async () => {
    const role = await define(tier, nextName(), [small])
    const key = { 'idempotency-key': newId('correlation') }
    const first = await bind(owner, tier, people[3]!.id, { role_id: role }, {}, key)
    const again = await bind(owner, tier, people[3]!.id, { role_id: role }, {}, key)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(await live.sql(`select from ${tier}_role_bindings where role_definition_id = $1`, [role])).toHaveLength(1)
  })

  test('RP-22 the ceiling of both: nobody takes away by a version what he could not give', async () => {
    const role = await define(tier, nextName(), [small, large], [small])
    const [grantor, holder] = [people[4]!, people[5]!]
    const giver = await define(tier, nextName(), [assign, small])
    await bind(owner, tier, grantor.id, { role_id: giver })
    expect(said(await bind(owner, tier, holder.id, { role_id: role }, { version: 1 }))).toBe('201')
    expect(said(await bind(grantor.subject, tier, holder.id, { role_id: role }, { version: 2 }))).toBe('403 assignment_ceiling')
    // What is past its end gives nothing, so nothing is taken.
    await live.sql(`update ${tier}_role_bindings set expires_at = now() where role_definition_id = $1`, [role])
    expect(said(await bind(grantor.subject, tier, holder.id, { role_id: role }, { version: 2 }))).toBe('201')
    expect(said(await bind(grantor.subject, tier, holder.id, { role_id: role }, { version: 1 }))).toBe('403 assignment_ceiling')
  })

  test('RP-22 ten at once: one is made', async () => {
    const role = await define(tier, nextName(), [small])
    const answers = await Promise.all(Array.from({ length: 10 }, () => bind(owner, tier, people[6]!.id, { role_id: role })))
    expect(answers.map(said).sort()).toEqual(['201', ...Array(9).fill('409 binding_already_exists')])
  })

  test('E4 a role of another scope, tier or kind is not there, nor a deleted one or an unknown version', async () => {
    const own = await define(tier, nextName(), [small])
    const foreign = await foreignRole()
    const across =
      tier === 'tenant' ? await define('project', nextName(), ['storage.read']) : await define('tenant', nextName(), ['tenant.read'])
    const deleted = await define(tier, nextName(), [small])
    await askIn(tier, owner, roles.remove, { params: { role_id: deleted }, body: because })
    const { id } = people[7]!
    for (const which of [
      { role_id: foreign.id },
      { role_name: foreign.name },
      { role_id: across },
      { role_id: deleted },
      { role_id: fixedId('role', 'platform_superadmin') },
      { role_name: 'platform_superadmin' },
      { role_name: tier === 'tenant' ? 'project_viewer' : 'tenant_viewer' },
      { role_id: nobody },
      { role_id: own, version: 2 },
      { role_id: fixedId('role', `${tier}_viewer`), version: 2 },
    ])
      for (const person of [owner, 'ada'])
        expect([JSON.stringify(which), said(await bind(person, tier, id, which))]).toEqual([JSON.stringify(which), '404 role_not_found'])
    for (const which of [{}, { role_id: own, role_name: 'x' }, { role_id: own, version: 0 }, { role_version_id: nobody }])
      expect((await bind(owner, tier, id, which)).status).toBe(400)
  })

  test('E4 nor can it be written past the product', async () => {
    const other = tier === 'tenant' ? 'project' : 'tenant'
    const across = await define(other, nextName(), [other === 'tenant' ? 'tenant.read' : 'storage.read'])
    const raw = (version: string, role = 'null') =>
      live.sql(
        `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
         values ($1, $2, 'user', $3, (${version}), ${role}, now()) returning role_definition_id`,
        [newId('binding'), scope, people[8]!.id],
      )
    const refused = { constraint: 'role_not_assignable' }
    const versionOf = (id: string) => `select current_version_id from role_definitions where id = '${id}'`
    await expect(raw(versionOf(across))).rejects.toMatchObject(refused)
    await expect(raw(versionOf(fixedId('role', 'platform_superadmin')))).rejects.toMatchObject(refused)
    await expect(raw(versionOf((await foreignRole()).id))).rejects.toMatchObject(refused)
    // Whatever is said of its definition, it is that of its version.
    const own = await define(tier, nextName(), [small])
    expect(await raw(versionOf(own), `'${fixedId('role', `${tier}_owner`)}'`)).toEqual([{ role_definition_id: own }])
    await live.sql(`update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where role_definition_id = $1`, [own])
    // One to a deleted role, if the table lets it in, gives nothing.
    const deleted = await define(tier, nextName(), [large])
    await askIn(tier, owner, roles.remove, { params: { role_id: deleted }, body: because })
    await raw(versionOf(deleted)).catch(() => {})
    expect(await permissionsOf(people[8]!.subject, tier)).not.toContain(large)
  })

  test('RP-21 an end is an instant of the database: until it the binding counts, from it on it does not', async () => {
    const role = await define(tier, nextName(), [large])
    const { id, subject } = people[9]!
    const [{ now }] = (await live.sql<{ now: Date }>('select now() as now')) as [{ now: Date }]
    for (const expires_at of [now.toISOString(), '2001-01-01T00:00:00.000Z', '2099-02-30T00:00:00.000Z', '2099-01-01', 'never', 7])
      expect([expires_at, (await bind(owner, tier, id, { role_id: role }, { expires_at })).status]).toEqual([expires_at, 400])
    // By the clock after the refusals: on a busy machine those alone may take longer than the binding lives.
    const [{ later }] = (await live.sql<{ later: Date }>('select now() as later')) as [{ later: Date }]
    const ends = new Date(later.getTime() + 3000)
    const made = await bind(owner, tier, id, { role_id: role }, { expires_at: ends.toISOString() })
    expect(made.body.expires_at).toBe(ends.toISOString())
    const listed = async () =>
      (await askIn(tier, owner, bindings.list, { query: { limit: 200 } })).body.items.some(
        (item: { id: string }) => item.id === made.body.id,
      )
    expect(await listed()).toBe(true)
    // Asked without pause until it turns: every answer agrees with the clock before or after it.
    for (let isAllowed = true; isAllowed; ) {
      const [{ before }] = (await live.sql<{ before: Date }>('select clock_timestamp() as before')) as [{ before: Date }]
      isAllowed = (await permissionsOf(subject, tier)).includes(large)
      const [{ after }] = (await live.sql<{ after: Date }>('select clock_timestamp() as after')) as [{ after: Date }]
      if (isAllowed) expect(before.getTime()).toBeLessThan(ends.getTime())
      else expect(after.getTime()).toBeGreaterThanOrEqual(ends.getTime())
    }
    expect(await listed()).toBe(false)
    // Nobody has ended it, and yet it is not in the way.
    expect(said(await bind(owner, tier, id, { role_id: role }))).toBe('201')
    expect(await live.sql(`select delete_reason from ${tier}_role_bindings where id = $1`, [made.body.id])).toEqual([
      { delete_reason: 'expired' },
    ])
  })

  test('RP-20 an owner has no end, by the product and by the table', async () => {
    const role_name = `${tier}_owner`
    const later = new Date(Date.now() + 3_600_000).toISOString()
    for (const person of [owner, 'ada'])
      expect((await bind(person, tier, people[10]!.id, { role_name }, { expires_at: later })).status).toBe(400)
    await expect(bound(tier, people[10]!, role_name, `now() + interval '1 hour'`)).rejects.toMatchObject({
      constraint: 'role_not_assignable',
    })
    const id = await bound(tier, people[10]!, role_name)
    await expect(live.sql(`update ${tier}_role_bindings set expires_at = now() where id = $1`, [id])).rejects.toMatchObject({
      constraint: 'role_not_assignable',
    })
    expect(said(await end(owner, tier, id))).toBe('204')
  })
})

describe('a project without an owner', () => {
  const appoint = (person: string, user_id: string, headers = {}) =>
    live.ask(person, appointProjectOwner, { params: { project_id: project.borealis }, body: { user_id, ...because }, headers })
  const ownersOf = async () =>
    (await live.ask('bella', listOrganizationMembers, { params: { org_id: org.borealis } })).status === 200
      ? live.sql<{ principal_id: string }>(
          `select b.principal_id from project_role_bindings b where b.project_id = $1 and b.deleted_at is null and b.role_definition_id = $2`,
          [project.borealis, fixedId('role', 'project_owner')],
        )
      : []

  test('RP-31 its owner can be removed from the tenant, and then the tenant’s owner appoints another', async () => {
    expect(said(await appoint('bella', user('bjorn')))).toBe('409 state_conflict')
    expect(
      said(
        await live.ask('bella', removeProjectMember, { params: { project_id: project.borealis, user_id: user('berta') }, body: because }),
      ),
    ).toBe('403 insufficient_permissions')
    const removed = await live.ask('bella', removeOrganizationMember, {
      params: { org_id: org.borealis, user_id: user('berta') },
      body: because,
    })
    expect(removed.status).toBe(204)
    expect(await ownersOf()).toEqual([])

    expect(said(await appoint('boris', user('bjorn')))).toBe('403 insufficient_permissions')
    expect(said(await appoint('basil', user('basil')))).toBe('403 insufficient_permissions')
    expect(said(await appoint('alice', user('bjorn')))).toBe('404 project_not_found')
    expect(said(await appoint('bella', user('anna')))).toBe('409 not_tenant_member')
    expect(said(await appoint('bella', user('berta')))).toBe('409 not_tenant_member')
    expect(said(await appoint('ada', user('ada')))).toBe('403 override_self_grant')
    // He was no member of the project; now he is, and owns it.
    const made = await appoint('bella', user('bjorn'), { 'x-request-id': 'appointed' })
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ role_name: 'project_owner', principal_id: user('bjorn') })])
    expect(await live.auditOf('appointed')).toMatchObject([
      { action: 'project.owner.appoint', severity: 'high', tenant_id: org.borealis, metadata: { user_id: user('bjorn'), ...because } },
    ])
    expect((await live.ask('bjorn', listProjectMembers, { params: { project_id: project.borealis } })).status).toBe(200)
    expect(said(await appoint('bella', user('birgit')))).toBe('409 state_conflict')
  })

  test('RP-31 one who is disabled owns nothing any more that somebody must be asked about', async () => {
    expect((await live.ask('ada', disableUser, { params: { user_id: user('bjorn') }, body: because })).status).toBe(200)
    // Already a member of the project, and made its owner.
    expect(said(await appoint('ada', user('birgit')))).toBe('201')
    expect((await ownersOf()).map(({ principal_id }) => principal_id).sort()).toEqual([user('bjorn'), user('birgit')].sort())
    expect((await live.ask('ada', enableUser, { params: { user_id: user('bjorn') }, body: because })).status).toBe(200)
  })

  test('RP-31 ten at once: one is appointed', async () => {
    for (const name of ['bjorn', 'birgit'])
      await live.ask('bella', removeOrganizationMember, { params: { org_id: org.borealis, user_id: user(name) }, body: because })
    expect(await ownersOf()).toEqual([])
    const candidates = ['bodo', 'basil', 'bryn', 'bruno', 'beate']
    const answers = await Promise.all([...candidates, ...candidates].map((name) => appoint('bella', user(name))))
    expect(answers.map(said).sort()).toEqual(['201', ...Array(9).fill('409 state_conflict')])
    expect(await ownersOf()).toHaveLength(1)
  })
})
