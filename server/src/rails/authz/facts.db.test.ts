import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '#ground/db/database.ts'
import { fixedId, newId } from '#ground/kernel/ids.ts'
import { type Actor, newTrail } from '#ground/work/work.ts'
import { seedDevelopment } from '#process/seed-development.ts'
import { type ClonedDatabase, cloneDatabase } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import type { Action } from './actions.ts'
import { permissionsOf } from './catalogue.ts'
import { decide } from './decide.ts'
import { readFacts } from './facts.ts'
import { nowhere, type Place } from './kind.ts'

const org = { aurora: fixedId('org', 'aurora'), borealis: fixedId('org', 'borealis') }
const project = { aurora: fixedId('project', 'aurora/training'), borealis: fixedId('project', 'borealis/inference') }
const user = (name: string) => fixedId('user', name)
const inAurora: Place = { ...nowhere, tenant_id: org.aurora }
const inTraining: Place = { ...nowhere, tenant_id: org.aurora, project_id: project.aurora }

let clone: ClonedDatabase
let database: Database
beforeEach(async () => {
  clone = await cloneDatabase()
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:${'k'.repeat(43)}` })
  database = openDatabase({ url: clone.appUrl, max_connections: 2, ...unhurried.database })
})
afterEach(async () => {
  await database.close()
  await clone.drop()
})

/** Past every rule of the code, as the owner. */
const force = (text: string) => asSuperuser(clone.ownerUrl, (client) => client.query(text))
const factsOf = (actor: Actor, place: Place) =>
  database.transaction('read', (tx) =>
    readFacts({ actor, correlation_id: 'test', source_ip: null, now: tx.now, tx, trail: newTrail() }, 'organization', place),
  )
const facts = (username: string, place: Place) => factsOf({ type: 'user', id: user(username) }, place)
const sorted = (keys: Iterable<string>) => [...keys].sort()
const said = async (username: string, action: Action, place: Place) => {
  const { decision, reason_code } = decide(action, await facts(username, place))
  return reason_code ?? decision
}
const ended = `deleted_at = now(), delete_reason = 'test'`
const bindingOf = (username: string) => `principal_id = '${user(username)}'`

describe('what is there', () => {
  test('RP-04 a built-in role gives what the catalogue says, at its own tier', async () => {
    const alice = await facts('alice', inTraining)
    expect(sorted(alice.tenant.allowed)).toEqual(sorted(permissionsOf('tenant_owner')))
    expect(alice.project.allowed.size).toBe(0)
    expect(alice).toMatchObject({
      tenant: { is_member: true },
      project: { is_member: false },
      platform_role: 'platform_user',
      may_know: true,
    })
    const amara = await facts('amara', inTraining)
    expect(sorted(amara.project.allowed)).toEqual(sorted(permissionsOf('project_owner')))
    expect(sorted(amara.tenant.allowed)).toEqual(sorted(permissionsOf('tenant_member')))
    const ada = await facts('ada', inTraining)
    expect(sorted(ada.platform.allowed)).toEqual(['authorization.override.all'])
    expect(ada).toMatchObject({ platform_role: 'platform_superadmin', may_know: true, tenant: { is_member: false } })
  })

  test('RP-04 what was forced into the mirror of a built-in role is not heard', async () => {
    await force(
      `insert into role_permissions (role_version_id, permission_key)
         select v.id, key from role_definition_versions v join role_definitions d on d.id = v.role_definition_id,
                unnest(array['tenant.update', 'authorization.override.all']) as key where d.name = 'tenant_viewer'`,
    )
    expect(sorted((await facts('arne', inAurora)).tenant.allowed)).toEqual(sorted(permissionsOf('tenant_viewer')))
    await force('delete from role_permissions')
    expect(sorted((await facts('alice', inAurora)).tenant.allowed)).toEqual(sorted(permissionsOf('tenant_owner')))
  })

  test('AU-05 in a tenant of strangers nobody is anything, unless the platform made him more', async () => {
    expect(await facts('bella', inTraining)).toMatchObject({
      may_know: false,
      tenant: { is_member: false, allowed: new Set() },
      project: { is_member: false, allowed: new Set() },
    })
    expect((await facts('otto', inTraining)).may_know).toBe(true)
    expect((await facts('bella', nowhere)).may_know).toBe(false)
  })
})

describe('what has ended does not count', () => {
  test('RP-21 an ended tenant membership', async () => {
    await force(`update tenant_memberships set ${ended} where user_id = '${user('alice')}'`)
    expect(await facts('alice', inAurora)).toMatchObject({ may_know: false, tenant: { is_member: false } })
    expect(await said('alice', 'tenant.read', inAurora)).toBe('membership_missing')
  })

  test('RP-21 an ended project membership', async () => {
    await force(`update project_memberships set ${ended} where user_id = '${user('amara')}'`)
    expect(await said('amara', 'allocation.read', inTraining)).toBe('membership_missing')
    expect(await said('amara', 'tenant.read', inTraining)).toBe('allow')
  })

  test('RP-21 a project membership without one of its tenant', async () => {
    await force(`update tenant_memberships set ${ended} where user_id = '${user('amara')}'`)
    const amara = await facts('amara', inTraining)
    expect(amara.project.is_member).toBe(false)
    expect(amara.may_know).toBe(false)
    for (const action of ['allocation.read', 'project.member.remove', 'project.read', 'project.member.leave'] as const)
      expect(await said('amara', action, inTraining)).toBe('membership_missing')
  })

  test.each([
    ['platform_role_bindings', 'otto', 'platform.node.read', nowhere],
    ['tenant_role_bindings', 'adam', 'tenant.read', inAurora],
    ['project_role_bindings', 'asha', 'allocation.read', inTraining],
  ] as const)('RP-21 an ended row of %s', async (table, username, action, place) => {
    expect(await said(username, action, place)).toBe('allow')
    await force(`update ${table} set ${ended} where ${bindingOf(username)}`)
    expect(await said(username, action, place)).toBe('permission_denied')
  })

  test('RP-21 who lost the platform role may no longer know what exists', async () => {
    await force(`update platform_role_bindings set ${ended} where ${bindingOf('otto')}`)
    expect(await facts('otto', inTraining)).toMatchObject({ may_know: false, platform_role: 'platform_user' })
  })

  test.each([
    ['tenant_role_bindings', 'adam', 'tenant.read', inAurora],
    ['project_role_bindings', 'asha', 'allocation.read', inTraining],
  ] as const)('an expired row of %s, by the time of the database', async (table, username, action, place) => {
    await force(`update ${table} set expires_at = now() + interval '1 hour' where ${bindingOf(username)}`)
    expect(await said(username, action, place)).toBe('allow')
    await force(`update ${table} set expires_at = now() where ${bindingOf(username)}`)
    expect(await said(username, action, place)).toBe('permission_denied')
  })

  test('a deleted organization has no members', async () => {
    await force(`update organizations set ${ended}, deleted_by = '${user('ada')}' where id = '${org.aurora}'`)
    expect(await facts('alice', inAurora)).toMatchObject({ may_know: false, tenant: { is_member: false } })
    expect(await said('amara', 'allocation.create', inTraining)).toBe('membership_missing')
  })

  test('DE-05 a disabled person is disabled, whoever he is', async () => {
    await force(`update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where username in ('ada', 'alice')`)
    expect(await said('ada', 'platform.admin', nowhere)).toBe('actor_disabled')
    expect(await said('alice', 'tenant.read', inAurora)).toBe('actor_disabled')
  })
})

describe('what is disabled, frozen or unknown', () => {
  test.each([
    ['platform_ops', 'otto', 'platform.node.read', nowhere],
    ['tenant_owner', 'alice', 'tenant.update', inAurora],
    ['project_viewer', 'axel', 'allocation.read', inTraining],
  ] as const)('DE-09 a disabled %s grants nothing and says so', async (role, username, action, place) => {
    await force(`update role_definitions set state = 'disabled' where name = '${role}'`)
    expect(await said(username, action, place)).toBe('role_disabled')
  })

  test('DE-06 a disabled superadmin role overrides nothing', async () => {
    await force(`update role_definitions set state = 'disabled' where name = 'platform_superadmin'`)
    expect(await said('ada', 'tenant.read', inAurora)).toBe('membership_missing')
  })

  test('DE-21 a suspended organization and an archived project are frozen', async () => {
    await force(`update projects set state = 'archived'`)
    expect(await facts('amara', inTraining)).toMatchObject({ project: { is_archived: true }, tenant: { is_suspended: false } })
    await force(`update organizations set state = 'suspended' where id = '${org.aurora}'`)
    expect(await said('alice', 'tenant.update', inAurora)).toBe('policy_constraint_denied')
    expect(await said('amara', 'allocation.read', inTraining)).toBe('allow')
    expect((await facts('bella', { ...nowhere, tenant_id: org.borealis })).tenant.is_suspended).toBe(false)
  })

  test('a state that this version does not know is not the active one', async () => {
    await force(
      'alter table organizations drop constraint organizations_state_check; alter table projects drop constraint projects_state_check',
    )
    await force('alter table role_definitions drop constraint role_definitions_state_check')
    await force(`update organizations set state = 'under_review' where id = '${org.aurora}'`)
    await force(`update projects set state = 'moving'`)
    expect(await facts('amara', inTraining)).toMatchObject({ tenant: { is_suspended: true }, project: { is_archived: true } })
    await force(`update role_definitions set state = 'retired' where name = 'tenant_owner'`)
    expect(await said('alice', 'tenant.read', inAurora)).toBe('role_disabled')
  })
})

/** A custom role with these permissions, bound to the person: what the API would never write. */
const bindCustom = (tier: 'tenant' | 'project', scope: string, username: string, permissions: string[], name = 'custom') => {
  const [role, version] = [newId('role'), newId('role_version')]
  return force(
    `begin;
     insert into role_definitions (id, scope_type, ${tier}_id, name, is_builtin, current_version_id, created_at)
       values ('${role}', '${tier}', '${scope}', '${name}', false, '${version}', now());
     insert into role_definition_versions (id, role_definition_id, version, created_at) values ('${version}', '${role}', 1, now());
     insert into role_permissions (role_version_id, permission_key) select '${version}', key from unnest(array['${permissions.join("','")}']) as key;
     insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
       values (gen_random_uuid(), '${scope}', 'user', '${user(username)}', '${version}', now());
     commit`,
  )
}

describe('a custom role', () => {
  test('RP-06 gives its own permissions and inherits nothing', async () => {
    await bindCustom('tenant', org.aurora, 'arne', ['tenant.audit.read'])
    expect(sorted((await facts('arne', inAurora)).tenant.allowed)).toEqual(['tenant.audit.read', 'tenant.read'])
  })

  test.each(['tenant', 'project'] as const)(
    'DE-06 of a %s is not heard where it was forced to hold more than its tier (E8)',
    async (tier) => {
      const foreign = [
        ...['authorization.override.all', 'platform.admin', 'platform.node.read', 'no.such_action', 'me.read'],
        ...(tier === 'tenant'
          ? ['storage.read', 'terminal.connect', 'project.member.remove']
          : ['tenant.read', 'tenant.update', 'project.read']),
      ]
      const own = tier === 'tenant' ? 'tenant.audit.read' : 'project.audit.read'
      await bindCustom(tier, tier === 'tenant' ? org.aurora : project.aurora, 'axel', [...foreign, own])
      const axel = await facts('axel', inTraining)
      const all = [axel.platform, axel.tenant, axel.project].flatMap(({ allowed, by_disabled }) => [...allowed, ...by_disabled])
      expect(axel[tier].allowed).toContain(own)
      const had = new Set<string>([...permissionsOf('tenant_member'), ...permissionsOf('project_viewer')])
      expect(all.filter((key) => foreign.includes(key) && !had.has(key))).toEqual([])
      expect(axel.platform_role).toBe('platform_user')
      expect(await said('axel', 'platform.admin', nowhere)).toBe('permission_denied')
      expect(await said('axel', 'storage.write', inTraining)).toBe('permission_denied')
    },
  )

  test('RP-05 that took a built-in name is judged by its own rows', async () => {
    await bindCustom('tenant', org.aurora, 'arne', ['tenant.audit.read'], 'tenant_owner')
    expect(sorted((await facts('arne', inAurora)).tenant.allowed)).toEqual(['tenant.audit.read', 'tenant.read'])
  })

  test('RP-12 that was deleted grants nothing', async () => {
    await bindCustom('tenant', org.aurora, 'arne', ['tenant.audit.read'])
    await force(
      `update role_definitions set deleted_at = now(), deleted_by_user_id = '${user('ada')}', delete_reason = 'x' where name = 'custom'`,
    )
    expect(await said('arne', 'tenant.audit.read', inAurora)).toBe('permission_denied')
  })

  test('of one tenant grants nothing in another', async () => {
    await bindCustom('tenant', org.aurora, 'arne', ['tenant.audit.read'])
    expect((await facts('arne', { ...nowhere, tenant_id: org.borealis })).tenant.allowed.size).toBe(0)
  })
})

describe('who is nobody', () => {
  test.each([
    { type: 'user', id: fixedId('user', 'never-seen') },
    { type: 'service_account', id: user('ada') },
    { type: 'system', id: 'first_sign_in' },
    { type: 'node_agent', id: user('ada') },
  ] as Actor[])('$type $id has nothing and is told that it is disabled', async (actor) => {
    const found = await factsOf(actor, inTraining)
    expect(found).toMatchObject({ actor: { is_disabled: true }, may_know: false, platform: { allowed: new Set() } })
    expect(decide('tenant.read', found).reason_code).toBe('actor_disabled')
  })

  test('a binding of a service account with the id of a person is not his', async () => {
    await force(`update project_role_bindings set ${ended} where ${bindingOf('axel')}`)
    await force(
      `insert into service_accounts (id, org_id, project_id, name, slug, created_at)
         values ('${user('axel')}', '${org.aurora}', '${project.aurora}', 'Axel', 'axel', now())`,
    )
    await force(
      `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
         select gen_random_uuid(), '${project.aurora}', 'service_account', '${user('axel')}', d.current_version_id, now()
           from role_definitions d where d.name = 'project_member'`,
    )
    expect((await facts('axel', inTraining)).project.allowed.size).toBe(0)
  })
})
