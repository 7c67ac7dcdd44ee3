import { decideBatch } from '@gatehouse/contract/decisions'
import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { because, bindingsOn, custom, keysOf, nextName, said, table, tiers } from '../../../../test/binding-scene.ts'
import { crowdFixture, type Somebody } from '../../../../test/crowd.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import type { Tier } from '../../../../test/scoped-roles.ts'

const live = serverFixture({ policies: noRateLimits })
const people = crowdFixture(live, 13)
const { bind, bound, cleared, define, end, permissionsOf } = bindingsOn(live, people)

const { org, project, user } = seeded

describe.for(['tenant', 'project'] as const)('the ceiling of a %s', (tier) => {
  const builtin = Object.keys(table[tier])
  const own = Object.keys(custom[tier])
  const grantors: { name: string; holds: string[]; lapsed?: string[] }[] = [
    ...[...builtin, ...own].map((role) => ({ name: role, holds: [role] })),
    { name: 'nobody in particular', holds: [] },
    ...(tier === 'tenant'
      ? [
          { name: 'an admin who also keeps the bills', holds: ['tenant_admin', 'tenant_billing_manager'] },
          { name: 'two small roles together', holds: ['granter', 'auditor'] },
          { name: 'an admin whose other role is past its end', holds: ['tenant_admin'], lapsed: ['tenant_billing_manager'] },
          { name: 'an owner once', holds: ['granter'], lapsed: ['biller'] },
        ]
      : [
          { name: 'an admin who may assign', holds: ['project_admin', 'granter'] },
          { name: 'two small roles together', holds: ['wide-granter', 'buckets'] },
          { name: 'a viewer whose power to give is past its end', holds: ['project_viewer'], lapsed: ['granter'] },
        ]),
  ]
  beforeAll(async () => {
    await cleared(tier)
    for (const role of own) await define(tier, role, custom[tier][role]!.split(' '))
  })

  for (const { name, holds, lapsed = [] } of grantors)
    test(`E1 RP-19 ${name} gives to himself and to others what the ceiling allows, and nothing else`, async () => {
      await cleared(tier)
      const [grantor, other] = people as [Somebody, Somebody]
      for (const role of holds) await bound(tier, grantor, role)
      for (const role of lapsed) await bound(tier, grantor, role, `now() - interval '1 second'`)
      const held = new Set(holds.flatMap((role) => [...keysOf(tier, role)]))
      const wrong: string[] = []
      for (const target of [...builtin, ...own])
        for (const principal of [grantor, other]) {
          const asked = newId('correlation')
          const answer = await bind(grantor.subject, tier, principal.id, { role_name: target }, because, { 'x-request-id': asked })
          const isWithin = held.has(`${tier}.role.assign_any`) || [...keysOf(tier, target)].every((key) => held.has(key))
          const expected = !held.has(`${tier}.role.assign`)
            ? '403 insufficient_permissions'
            : !isWithin
              ? '403 assignment_ceiling'
              : principal === grantor && holds.includes(target)
                ? '409 binding_already_exists'
                : '201'
          if (said(answer) !== expected)
            wrong.push(`${target} to ${principal === grantor ? 'himself' : 'another'}: ${said(answer)}, not ${expected}`)
          const rows = await live.auditOf(asked)
          if (expected.startsWith('403'))
            expect(rows).toMatchObject([{ result: 'denied', reason_code: expect.any(String), tenant_id: org.aurora }])
          if (expected !== '201') continue
          expect(rows).toMatchObject([{ action: 'role_binding.create', result: 'success', severity: 'info' }])
          // As it was, so that the next one is judged by the same authority.
          await live.sql(`update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where id = $1`, [answer.body.id])
        }
      expect(wrong).toEqual([])
    })

  test('RP-29 override gives every role to others, high in the log, and none to its own user', async () => {
    await cleared(tier)
    const grace = { id: user('grace') as string }
    for (const [of, scope] of [
      ['tenant', org.aurora],
      ['project', project.aurora],
    ])
      await live.sql(
        `insert into ${of}_memberships (id, ${of}_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now()) on conflict do nothing`,
        [scope, grace.id],
      )
    for (const target of [...builtin, ...own]) {
      const asked = newId('correlation')
      const given = await bind('grace', tier, people[1]!.id, { role_name: target }, because, { 'x-request-id': asked })
      expect([target, said(given)]).toEqual([target, '201'])
      expect(await live.auditOf(asked)).toMatchObject([{ severity: 'high', tenant_id: org.aurora }])
      for (const id of [grace.id, grace.id.toUpperCase()])
        expect([target, said(await bind('grace', tier, id, { role_name: target }))]).toEqual([target, '403 override_self_grant'])
      // Who does not even belong there is no more able to.
      expect((await bind('ada', tier, user('ada'), { role_name: target })).status).toBeGreaterThanOrEqual(400)
    }
    // Another version of a role that she has is a gift as well.
    const role = await define(tier, nextName(), [...keysOf(tier, own[0]!)].slice(0, 1), [...keysOf(tier, own[0]!)])
    expect(said(await bind(tiers[tier].owner, tier, grace.id, { role_id: role }, { version: 1 }))).toBe('201')
    expect(said(await bind('grace', tier, grace.id, { role_id: role }, { version: 2 }))).toBe('403 override_self_grant')
    // What she may do in her own right is not by override, and is hers to give herself.
    const ownersHand = await bound(tier, grace, `${tier}_owner`)
    expect(said(await bind('grace', tier, grace.id, { role_id: role }, { version: 2 }))).toBe('201')
    expect(said(await end(tiers[tier].owner, tier, ownersHand))).toBe('204')
    await live.sql(
      `update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where deleted_at is null and principal_id = $1`,
      [grace.id],
    )
  })

  test('RP-19 ending is bounded differently: any role of the tier but an owner’s, by whoever may assign', async () => {
    await cleared(tier)
    const [grantor, other] = people as [Somebody, Somebody]
    await bound(tier, grantor, 'granter')
    for (const target of [...builtin, ...own]) {
      const id = await bound(tier, other, target)
      const answer = await end(grantor.subject, tier, id)
      expect([target, said(answer)]).toEqual([target, target.endsWith('_owner') ? '403 assignment_ceiling' : '204'])
      if (answer.status === 204) expect(said(await end(grantor.subject, tier, id))).toBe('404 binding_not_found')
    }
    const id = await bound(tier, people[2]!, `${tier === 'tenant' ? 'tenant_viewer' : 'project_viewer'}`)
    await cleared(tier)
    expect(said(await end(grantor.subject, tier, id))).toBe('403 insufficient_permissions')
    expect(said(await end('bella', tier, id))).toMatch(/^404 (organization|project)_not_found$/)
  })
})

describe('what a role comes to', () => {
  const holders: Record<Tier, Record<string, string>> = {
    tenant: {
      alice: 'tenant_owner',
      adam: 'tenant_admin',
      anna: 'tenant_member',
      abel: 'tenant_billing_manager',
      agnes: 'tenant_billing_viewer',
      arne: 'tenant_viewer',
    },
    project: { amara: 'project_owner', aldo: 'project_admin', asha: 'project_member', axel: 'project_viewer' },
  }
  // Given by belonging there, not by a role.
  const byMembership = new Set([
    'tenant.project.read_own',
    'project.read',
    'me.read',
    'me.ssh_key.read',
    'me.ssh_key.manage',
    'tenant.user.leave',
    'project.member.leave',
  ])

  for (const tier of ['tenant', 'project'] as const)
    for (const [person, role] of Object.entries(holders[tier]))
      test(`RP-06 ${role} has what the tables say, with what it includes in its own tier`, async () => {
        const expected = new Set([...keysOf(tier, role), ...(tier === 'project' ? keysOf('tenant', 'tenant_member') : [])])
        const has = (await permissionsOf(person, tier)).filter((key) => !byMembership.has(key))
        expect(has.sort()).toEqual([...expected].filter((key) => !byMembership.has(key)).sort())
      })

  test('RP-07 no role of a tenant, the owner’s included, reaches into a project', async () => {
    const keys = [...keysOf('project', 'project_owner')]
    for (const person of Object.keys(holders.tenant)) {
      const questions = keys.map((action) => ({ action, resource: { type: 'project', project_id: project.aurora } }))
      const { body } = await live.ask(person, decideBatch, { body: { questions } })
      expect(body.decisions.map(({ reason_code }) => reason_code)).toEqual(keys.map(() => 'membership_missing'))
    }
  })
})

describe('override and its own user', () => {
  test.for([
    ['founding an organization', 'POST', '/api/v1/orgs', { name: 'Mine', slug: 'mine', owner_user_id: user('ada') }],
    ['founding a project', 'POST', `/api/v1/orgs/${org.aurora}/projects`, { name: 'Mine', slug: 'mine' }],
    [
      'founding a project by name',
      'POST',
      `/api/v1/orgs/${org.aurora}/projects`,
      { name: 'Mine', slug: 'mine', owner_user_id: user('ada') },
    ],
    ['joining a project', 'POST', `/api/v1/projects/${project.aurora}/members`, { user_id: user('ada'), role_name: 'project_viewer' }],
    ['appointing an owner', 'POST', `/api/v1/projects/${project.aurora}/owner`, { user_id: user('ada'), reason: 'mine' }],
  ] as const)('RP-29 %s is no way in', async ([, method, path, body]) => {
    expect(said(await live.call('ada', method, path, { body }))).toBe('403 override_self_grant')
    expect(
      await live.sql(
        `select id from tenant_memberships where user_id = $1 and deleted_at is null and tenant_id in (select id from organizations where type <> 'personal')
         union all select id from project_memberships where user_id = $1 and deleted_at is null and project_id = $2`,
        [user('ada'), project.aurora],
      ),
    ).toEqual([])
  })
})
