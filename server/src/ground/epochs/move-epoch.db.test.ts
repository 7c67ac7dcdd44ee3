import { describe, expect, test } from 'vitest'
import { account, id, role, roleOf, rows, runtime, unrole, unruntime } from '../../../../test/epoch-changes.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { newId } from '../kernel/ids.ts'
import { platformScope } from './moment.ts'

const live = serverFixture()

const { org, project, user } = seeded
const scopes = { [org.aurora]: 'aurora', [org.borealis]: 'borealis', [platformScope]: 'platform' }

const epochs = async () => {
  const rows = await live.sql<{ id: string; value: string; stamp: string }>('select id, value, stamp from epochs')
  return new Map(rows.map(({ id, value, stamp }) => [id, { value: Number(value), stamp }]))
}
/** Which epochs an act moves, and by how much. */
const movedBy = async (act: () => Promise<unknown>): Promise<Record<string, number>> => {
  const before = await epochs()
  await act()
  const moved = [...(await epochs())].flatMap(([id, { value, stamp }]) => {
    const was = before.get(id)
    expect(was?.stamp === stamp, 'a stamp moves with its figure').toBe(was?.value === value)
    return was?.value === value ? [] : [[scopes[id] ?? id, value - (was?.value ?? 0)] as const]
  })
  return Object.fromEntries(moved)
}
const moved = (text: string, values: unknown[] = []) => movedBy(() => live.sql(text, values))
const inOne = async (end: 'commit' | 'rollback', ...texts: string[]) => {
  for (const text of ['begin', ...texts, end]) await live.sql(text)
}

describe('a change moves the epoch of its scope', () => {
  test.for(rows)('DE-19 $table: $what that comes, changes and goes, and no other', async (row) => {
    for (const text of row.before ?? []) await live.sql(text)
    const once = { [row.where]: 1 }
    expect(await movedBy(() => inOne('rollback', row.insert))).toEqual({})
    expect(await moved(row.insert)).toEqual(once)
    expect(await moved(row.nothing)).toEqual({})
    expect(await movedBy(() => inOne('rollback', row.update))).toEqual({})
    expect(await moved(row.update)).toEqual(once)
    expect(await movedBy(() => inOne('rollback', row.delete))).toEqual({})
    expect(await moved(row.delete)).toEqual(once)
    for (const text of row.after ?? []) await live.sql(text)
  })

  test('DE-19 what is built in concerns the platform', async () => {
    expect(await moved(`update role_definitions set state = 'disabled' where name = 'tenant_viewer'`)).toEqual({ platform: 1 })
    expect(await moved(`update role_definitions set state = 'active' where name = 'tenant_viewer'`)).toEqual({ platform: 1 })
    expect(await moved(`insert into role_permissions values (${roleOf('tenant_viewer')}, 'tenant.update')`)).toEqual({ platform: 1 })
    expect(
      await moved(`delete from role_permissions where permission_key = 'tenant.update' and role_version_id = ${roleOf('tenant_viewer')}`),
    ).toEqual({
      platform: 1,
    })
  })

  test('DE-19 a new person moves none; what changes about him, and his end, moves that of the platform', async () => {
    const picked = `where id = '${id.user}'`
    expect(
      await moved(`insert into users (id, username, oidc_issuer, oidc_subject, created_at) values ('${id.user}', 'n', 'i', 's', now())`),
    ).toEqual({})
    expect(await moved(`update users set username = 'other' ${picked}`)).toEqual({})
    for (const change of [
      `disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = 'test'`,
      'disabled_at = null, disabled_by = null, disable_reason = null',
      `oidc_subject = 'another'`,
      `oidc_issuer = 'another'`,
      `role = 'admin'`,
      `email = 'a@b.example'`,
      'email_verified = true',
    ])
      expect(await moved(`update users set ${change} ${picked}`)).toEqual({ platform: 1 })
    expect(await moved(`delete from users ${picked}`)).toEqual({ platform: 1 })
  })

  test('DE-19 a new key of a service account moves none, nor does its use; its end, and all that its secret is held against, moves that of its tenant', async () => {
    const picked = `where id = '${id.key}'`
    await live.sql(account)
    const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
    expect(
      await moved(`insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
                   values ('${id.key}', '${id.account}', ${bytes(16)}, ${bytes(32)}, 1, now(), '${user('ada')}')`),
    ).toEqual({})
    expect(await moved(`update service_account_keys set last_used_at = now() ${picked}`)).toEqual({})
    for (const change of [
      'expires_at = now()',
      'epoch = epoch + 1',
      `revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test'`,
      `salt = decode(repeat('11', 16), 'hex')`,
      `secret_hash = decode(repeat('11', 32), 'hex')`,
      `salt = null, secret_hash = null, alg = 'ES256', public_jwk = '{}'`,
      `alg = 'EdDSA'`,
      `public_jwk = '{"kty":"OKP"}'`,
    ])
      expect(await moved(`update service_account_keys set ${change} ${picked}`)).toEqual({ aurora: 1 })
    expect(await moved(`delete from service_account_keys ${picked}`)).toEqual({ aurora: 1 })
    await live.sql(`delete from service_accounts where id = '${id.account}'`)
  })

  test('DE-19 MI-02 likewise a credential of a runtime’s operator', async () => {
    const [runtime, key] = [newId('shared runtime'), newId('operator credential')]
    await live.sql(
      `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
       values ($1, $2, 'epochs', '1', '${runtime}', 'ray', now(), $3, now())`,
      [runtime, org.aurora, user('ada')],
    )
    const [table, picked] = ['shared_runtime_operator_credentials', `where id = '${key}'`]
    const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
    expect(
      await moved(`insert into ${table} (id, shared_runtime_id, salt, secret_hash, epoch, created_at, created_by)
                   values ('${key}', '${runtime}', ${bytes(16)}, ${bytes(32)}, 1, now(), '${user('ada')}')`),
    ).toEqual({})
    expect(await moved(`update ${table} set last_used_at = now() ${picked}`)).toEqual({})
    for (const change of [
      'expires_at = now()',
      'epoch = epoch + 1',
      `revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test'`,
      `salt = decode(repeat('11', 16), 'hex')`,
      `secret_hash = decode(repeat('11', 32), 'hex')`,
    ])
      expect([change, await moved(`update ${table} set ${change} ${picked}`)]).toEqual([change, { aurora: 1 }])
    expect(await moved(`delete from ${table} ${picked}`)).toEqual({ aurora: 1 })
    await live.sql('delete from shared_app_runtimes where id = $1', [runtime])
  })

  test('DE-19 MI-05 what a runtime reports of itself moves none; what its operator may, and whether it is one, moves that of its tenant', async () => {
    const picked = `where id = '${id.runtime}'`
    await live.sql(runtime)
    for (const change of [
      `state = 'running', reported_state = 'running', reported_sequence = 1, reported_at = now()`,
      'members_sequence = 1, members_reported_at = now()',
      `display_name = 'other', version = version + 1, cursor_version = cursor_version + 1`,
    ])
      expect(await moved(`update shared_app_runtimes set ${change} ${picked}`)).toEqual({})
    const ada = `'${user('ada')}'`
    for (const change of [
      `delegated_actions = '{attach}'`,
      `eligible_project_ids = array['${project.aurora}'::uuid]`,
      `state = 'disabled', disabled_at = now(), disabled_by = ${ada}, disable_reason = 'over'`,
      `state = 'deleted', deleted_at = now(), deleted_by = ${ada}, delete_reason = 'over'`,
    ])
      expect(await moved(`update shared_app_runtimes set ${change} ${picked}`)).toEqual({ aurora: 1 })
    await live.sql(unruntime)
  })

  test('DE-19 that the installation begins another epoch moves that of the platform, and a checkpoint moves none', async () => {
    expect(await moved('update installation set checkpoint_number = checkpoint_number + 1')).toEqual({})
    expect(await moved('update installation set epoch = epoch + 1')).toEqual({ platform: 1 })
    expect(await moved('update installation set epoch = epoch - 1')).toEqual({ platform: 1 })
  })

  test('DE-19 a new token moves none; its end moves that of its tenant, or of the platform where it has none', async () => {
    for (const [tenant, where] of [
      [`'${org.aurora}'`, 'aurora'],
      ['null', 'platform'],
    ] as const) {
      expect(
        await moved(`insert into issued_tokens (id, actor_type, actor_id, org_id, typ, kid, audience, scope, epoch, issued_at, expires_at)
                     select '${id.key}', 'platform_operator', gen_random_uuid(), ${tenant}, 'po+jwt', kid, 'a', '{}', 1, now(), now() + interval '1 h'
                       from signing_keys where state = 'active'`),
      ).toEqual({})
      const picked = `where id = '${id.key}'`
      expect(
        await moved(`update issued_tokens set revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test' ${picked}`),
      ).toEqual({ [where]: 1 })
      expect(await moved(`delete from issued_tokens ${picked}`)).toEqual({ [where]: 1 })
    }
  })

  test('DE-19 many changes in one transaction move each epoch once', async () => {
    const many = () =>
      inOne(
        'commit',
        `update organizations set name = name || '.'`,
        `update organizations set name = name || '.'`,
        `update projects set name = name || '.'`,
        `update tenant_memberships set created_at = created_at + interval '1 second'`,
        `update platform_role_bindings set created_at = created_at + interval '1 second'`,
      )
    expect(await movedBy(many)).toEqual({ aurora: 1, borealis: 1, platform: 1 })
  })

  test('DE-19 what is moved from one tenant to another moves both', async () => {
    await live.sql(`insert into projects (id, org_id, name, slug, created_at) values ('${id.project}', '${org.aurora}', 'n', 'n', now())`)
    expect(await moved(`update projects set org_id = '${org.borealis}' where id = '${id.project}'`)).toEqual({
      aurora: 1,
      borealis: 1,
      // Where a project lies is kept for all.
      platform: 1,
    })
    await live.sql(`delete from projects where id = '${id.project}'`)
  })

  test('DE-19 a version of a role that somebody renumbers moves the epoch of its tenant', async () => {
    await live.sql(role('tenant', org.aurora))
    expect(await moved(`update role_definition_versions set version = 7 where id = '${id.version}'`)).toEqual({ aurora: 1 })
    await live.sql('begin')
    for (const text of unrole) await live.sql(text)
    await live.sql('commit')
  })

  test('DE-19 a change that was taken back to a savepoint does not count, and what came after it does', async () => {
    const rename = (name: string, slug: string) => `update organizations set name = '${name}' where slug = '${slug}'`
    const partly = () => inOne('commit', 'savepoint s', rename('x', 'aurora'), 'rollback to s', rename('y', 'borealis'))
    expect(await movedBy(partly)).toEqual({ borealis: 1 })
    const checked = () =>
      inOne('commit', rename('a', 'aurora'), 'savepoint s', 'set constraints all immediate', 'rollback to s', rename('b', 'aurora'))
    expect(await movedBy(checked)).toEqual({ aurora: 1 })
  })
})
