import { expect, test } from 'vitest'
import people from '../../../db/seed/people.json' with { type: 'json' }
import { cloneDatabase, databaseFixture } from '../../../test/postgres.ts'
import { asSuperuser } from '../../../test/superuser.ts'
import { seedDevelopment } from './seed-development.ts'

const issuer = 'http://127.0.0.1:8091'
const keys = `first:${'k'.repeat(43)}`
const ask = <Row = Record<string, unknown>>(text: string): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text)).rows as Row[])
const seed = (at = issuer) => seedDevelopment({ databaseUrl: clone.appUrl, issuer: at, keys })

const clone = databaseFixture(async () => {
  await seed()
})

/** Who is to be there, by hand: username, platform role, tenant and role, project role. */
const expected = [
  'ada platform_superadmin - - -',
  'grace platform_superadmin - - -',
  'otto platform_ops - - -',
  'alice - aurora tenant_owner -',
  'adam - aurora tenant_admin -',
  'anna - aurora tenant_member -',
  'abel - aurora tenant_billing_manager -',
  'agnes - aurora tenant_billing_viewer -',
  'arne - aurora tenant_viewer -',
  'amara - aurora tenant_member project_owner',
  'aldo - aurora tenant_member project_admin',
  'asha - aurora tenant_member project_member',
  'axel - aurora tenant_member project_viewer',
  'bella - borealis tenant_owner -',
  'boris - borealis tenant_admin -',
  'bjorn - borealis tenant_member -',
  'beate - borealis tenant_billing_manager -',
  'bruno - borealis tenant_billing_viewer -',
  'bryn - borealis tenant_viewer -',
  'berta - borealis tenant_member project_owner',
  'basil - borealis tenant_member project_admin',
  'birgit - borealis tenant_member project_member',
  'bodo - borealis tenant_member project_viewer',
].sort()

const everybody = `
  select concat_ws(' ', u.username, coalesce(pd.name, '-'), coalesce(o.slug, '-'), coalesce(td.name, '-'), coalesce(jd.name, '-')) as line
    from users u
    left join platform_role_bindings pb on pb.principal_id = u.id and pb.deleted_at is null
    left join role_definitions pd on pd.id = pb.role_definition_id
    left join tenant_memberships m on m.user_id = u.id and m.deleted_at is null
    left join organizations o on o.id = m.tenant_id
    left join tenant_role_bindings tb on tb.principal_id = u.id and tb.tenant_id = o.id and tb.deleted_at is null
    left join role_definition_versions tv on tv.id = tb.role_version_id
    left join role_definitions td on td.id = tv.role_definition_id
    left join project_role_bindings jb on jb.principal_id = u.id and jb.deleted_at is null
    left join role_definition_versions jv on jv.id = jb.role_version_id
    left join role_definitions jd on jd.id = jv.role_definition_id`

const counts = async () =>
  (
    await ask(`select (select count(*)::int from users) as users, (select count(*)::int from organizations) as organizations,
      (select count(*)::int from projects) as projects, (select count(*)::int from tenant_memberships) as tenant_memberships,
      (select count(*)::int from project_memberships) as project_memberships, (select count(*)::int from platform_role_bindings) as platform,
      (select count(*)::int from tenant_role_bindings) as tenant, (select count(*)::int from project_role_bindings) as project,
      (select count(*)::int from audit_logs) as audit`)
  )[0]

test('RP-28 exactly these people are there, each with the role he stands for, in two tenants', async () => {
  expect((await ask<{ line: string }>(everybody)).map(({ line }) => line).sort()).toEqual(expected)
  expect(people.people).toHaveLength(expected.length)
})

test('RP-28 every built-in tenant and project role has its person in each of the two tenants', async () => {
  const rows = await ask<{ slug: string; names: string[] }>(
    `select o.slug, array_agg(distinct d.name order by d.name) as names from organizations o
       join projects p on p.org_id = o.id
       join (select tenant_id, null::uuid as project_id, role_version_id from tenant_role_bindings
             union all select null, project_id, role_version_id from project_role_bindings) b on b.tenant_id = o.id or b.project_id = p.id
       join role_definition_versions v on v.id = b.role_version_id join role_definitions d on d.id = v.role_definition_id
      group by o.slug order by o.slug`,
  )
  const names = [
    ...['project_admin', 'project_member', 'project_owner', 'project_viewer', 'tenant_admin', 'tenant_billing_manager'],
    ...['tenant_billing_viewer', 'tenant_member', 'tenant_owner', 'tenant_viewer'],
  ]
  expect(rows).toEqual([
    { slug: 'aurora', names },
    { slug: 'borealis', names },
  ])
})

test('RP-28 two superadmins and platform_ops hold their roles by bindings, which users.role follows', async () => {
  expect(await ask(`select username from users where role <> 'user' order by 1`)).toEqual([{ username: 'ada' }, { username: 'grace' }])
  expect(
    await ask(`select u.username, d.name from platform_role_bindings b join users u on u.id = b.principal_id
                 join role_definitions d on d.id = b.role_definition_id where b.deleted_at is null order by 1`),
  ).toEqual([
    { username: 'ada', name: 'platform_superadmin' },
    { username: 'grace', name: 'platform_superadmin' },
    { username: 'otto', name: 'platform_ops' },
  ])
})

test('RP-28 a project role stands on a membership of the project and of its tenant', async () => {
  expect(
    await ask(`select b.principal_id from project_role_bindings b join projects p on p.id = b.project_id
                where not exists (select from project_memberships m where m.project_id = p.id and m.user_id = b.principal_id)
                   or not exists (select from tenant_memberships m where m.tenant_id = p.org_id and m.user_id = b.principal_id)`),
  ).toEqual([])
})

test('RP-28 every seeded person is marked as one, so that production can refuse the database', async () => {
  expect(await ask('select username from users where not is_seeded')).toEqual([])
})

test('RP-28 the seed is in the audit log, by its own name', async () => {
  const rows = await ask<{ action: string; resource_id: string }>(
    `select distinct action, actor_type, actor_id, result from audit_logs order by action`,
  )
  const seeded = { actor_type: 'system', actor_id: 'development_seed', result: 'success' }
  expect(rows).toEqual(['development.seed', 'organization.create', 'project.create'].map((action) => ({ action, ...seeded })))
})

test('RP-28 seeding again changes nothing, two at once neither', async () => {
  const before = await counts()
  await seed()
  await Promise.all([seed(), seed()])
  expect(await counts()).toEqual(before)
})

test('RP-28 two first seeds at once make one world', async () => {
  const fresh = await cloneDatabase()
  const once = () => seedDevelopment({ databaseUrl: fresh.appUrl, issuer, keys })
  await Promise.allSettled([once(), once()])
  await once()
  const rows = await asSuperuser(fresh.ownerUrl, async (client) => (await client.query('select count(*)::int as n from users')).rows)
  expect(rows).toEqual([{ n: expected.length }])
  await fresh.drop()
})

test('RP-28 when the development provider has moved, the same people are found under its new address', async () => {
  const before = await counts()
  await seed('http://127.0.0.1:9091')
  expect(await ask('select distinct oidc_issuer from users')).toEqual([{ oidc_issuer: 'http://127.0.0.1:9091' }])
  const after = await counts()
  expect(after).toEqual({ ...before, audit: (before!.audit as number) + 1 })
  expect(await ask(`select count(*)::int as n from audit_logs where action = 'development.move'`)).toEqual([{ n: 1 }])
})
