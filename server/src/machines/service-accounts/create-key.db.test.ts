import { removeProjectPolicyValue, setProjectPolicyValue } from '@gatehouse/contract/policies'
import { createProjectBinding, endProjectBinding } from '@gatehouse/contract/role-bindings'
import { previewProjectUpgrade, upgradeProjectRole } from '@gatehouse/contract/role-upgrades'
import { disableProjectRole, enableProjectRole, updateProjectRole } from '@gatehouse/contract/roles'
import {
  disableServiceAccount,
  enableServiceAccount,
  listServiceAccountKeys,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
} from '@gatehouse/contract/service-accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import { crowdFixture } from '../../../../test/crowd.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { accounts, because, ceiling, inSeconds, keysOf, one, serviceAccountsOn, word } from '../../../../test/service-account-scene.ts'
import { isSecretOf, isSpelledAsSecret } from './key-secret.ts'

const live = serverFixture({ policies: noRateLimits })
const { bind, define, holding, make, makeKey } = serviceAccountsOn(live)

const people = crowdFixture(live, 4)

const { org, project, user } = seeded

describe('keys', () => {
  test('TI-25 TI-11 a key shows its secret once; what is kept is a salted hash, and no list shows that', async () => {
    const id = await make()
    const expires_at = inSeconds(3600)
    const made = await makeKey('aldo', id, { expires_at, ...because }, { 'x-request-id': `k-${id}` })
    expect(made.status).toBe(201)
    const { client_secret, credential_session_id, ...key } = made.body
    expect(key).toEqual({
      key_id: credential_session_id,
      service_account_id: id,
      ...{ kind: 'secret', alg: null, public_jwk: null },
      ...{ state: 'active', created_at: expect.any(String), created_by: user('aldo'), expires_at, last_used_at: null, revoked_at: null },
    })
    expect(isSpelledAsSecret(client_secret!)).toBe(true)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const listed = await live.ask('asha', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })
    expect(listed.body.items).toEqual([key])
    const [row] = await live.sql<{ salt: Buffer; secret_hash: Buffer }>(
      'select salt, secret_hash from service_account_keys where id = $1',
      [key.key_id],
    )
    expect(isSecretOf(row, client_secret!)).toBe(true)
    for (const kept of [row!.salt, row!.secret_hash])
      for (const spelling of ['hex', 'base64', 'base64url'] as const) expect(listed.text).not.toContain(kept.toString(spelling))
    const record = await live.auditOf(`k-${id}`)
    expect(record).toMatchObject([
      {
        action: 'service_account.key.create',
        resource_id: key.key_id,
        metadata: { service_account_id: id, expires_at, reason: 'because' },
      },
    ])
    expect(JSON.stringify(record)).not.toContain(client_secret)
  })

  test('TI-25 several keys live side by side; an end must lie in the future', async () => {
    const id = await make()
    await makeKey('aldo', id)
    await makeKey('aldo', id)
    expect(
      (await live.ask('aldo', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })).body.items.map(
        ({ state }: { state: string }) => state,
      ),
    ).toEqual(['active', 'active'])
    const past = await makeKey('aldo', id, { expires_at: inSeconds(-1) })
    expect([past.status, past.body.details!.fields![0]!.field]).toEqual([400, 'expires_at'])
  })

  test('TI-19 the same idempotency key makes one key, and tells which one without its secret', async () => {
    const id = await make()
    const headers = { 'idempotency-key': word() }
    const asked = await Promise.all(Array.from({ length: 8 }, () => makeKey('aldo', id, {}, headers)))
    const made = asked.filter(({ status }) => status === 201)
    expect(made).toHaveLength(1)
    const { key_id, client_secret } = made[0]!.body
    for (const { status, body, text } of asked.filter(({ status }) => status !== 201)) {
      expect([status, body.code, body.details]).toEqual([409, 'credential_already_issued', { credential_session_id: key_id }])
      expect(text).not.toContain(client_secret)
    }
    expect(
      (await live.ask('aldo', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })).body.items,
    ).toHaveLength(1)
    expect((await makeKey('aldo', id, because, headers)).body.code).toBe('idempotency_key_reused')
    const [kept] = await live.sql<{ reply: unknown }>('select reply from idempotency_keys where key = $1', [headers['idempotency-key']])
    expect(kept!.reply).toBe(null)
  })

  test('TI-25 rotation makes a new key and lets the older one end after the overlap, never later than it would have', async () => {
    const id = await make()
    const { body: older } = await makeKey('aldo', id)
    const rotate = (key_id: string, body: object, headers = {}) =>
      live.ask('aldo', rotateServiceAccountKey, { params: { project_id: project.aurora, service_account_id: id, key_id }, body, headers })
    const rotated = await rotate(older.key_id, { overlap_seconds: 600, ...because }, { 'x-request-id': `r-${id}` })
    expect(rotated.status).toBe(201)
    const { client_secret, replaces, ...newer } = rotated.body
    expect(isSpelledAsSecret(client_secret!)).toBe(true)
    expect(client_secret).not.toBe(older.client_secret)
    expect(newer).toMatchObject({ state: 'active', expires_at: null, service_account_id: id, credential_session_id: newer.key_id })
    expect(replaces.key_id).toBe(older.key_id)
    expect(Date.parse(replaces.ends_at) - Date.parse(newer.created_at)).toBe(600_000)
    expect(await live.auditOf(`r-${id}`)).toMatchObject([
      { action: 'service_account.key.rotate', resource_id: newer.key_id, metadata: { replaces: older.key_id, overlap_seconds: 600 } },
    ])
    // Rotated once more with a longer overlap: its end stays.
    const { body: again } = await rotate(older.key_id, { overlap_seconds: 2_000_000 })
    expect(again.replaces.ends_at).toBe(replaces.ends_at)
    const expires_at = inSeconds(7200)
    const { body: third } = await rotate(newer.key_id, { overlap_seconds: 0, expires_at })
    expect(third.expires_at).toBe(expires_at)
    const { body } = await live.ask('aldo', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })
    expect(body.items.map(({ key_id, state }: { key_id: string; state: string }) => [key_id, state])).toEqual([
      [older.key_id, 'active'],
      [newer.key_id, 'revoked'],
      [again.key_id, 'active'],
      [third.key_id, 'active'],
    ])
    expect((await rotate(newer.key_id, {})).body).toMatchObject({ code: 'state_conflict', details: { state: 'revoked' } })
    await live.sql(`update service_account_keys set expires_at = now() where id = $1`, [older.key_id])
    expect((await rotate(older.key_id, {})).body).toMatchObject({ code: 'state_conflict', details: { state: 'expired' } })
    expect((await rotate(third.key_id, { overlap_seconds: -1 })).status).toBe(400)
  })

  test('TI-25 a key is revoked once, with who and why; also one that has run out', async () => {
    const id = await make()
    const { body: key } = await makeKey('aldo', id)
    expect((await live.call('aldo', 'DELETE', `${keysOf(id)}/${key.key_id}`, { body: {} })).status).toBe(400)
    await live.sql('update service_account_keys set expires_at = now() where id = $1', [key.key_id])
    expect(
      (
        await live.ask('aldo', revokeServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: id, key_id: key.key_id },
          body: { reason: 'lost' },
          headers: { 'x-request-id': key.key_id },
        })
      ).status,
    ).toBe(204)
    expect(
      (
        await live.ask('aldo', revokeServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: id, key_id: key.key_id },
          body: because,
        })
      ).body.code,
    ).toBe('state_conflict')
    expect(await live.sql('select revoked_by, revoke_reason from service_account_keys where id = $1', [key.key_id])).toEqual([
      { revoked_by: user('aldo'), revoke_reason: 'lost' },
    ])
    expect(await live.auditOf(key.key_id)).toMatchObject([{ action: 'service_account.key.revoke', metadata: { reason: 'lost' } }])
  })

  test('TI-25 policy bounds how many keys still count, also where many are made at once', async () => {
    const id = await make()
    expect(
      (
        await live.ask('alice', setProjectPolicyValue, {
          params: { project_id: project.aurora, key: 'auth.service_account_max_keys' },
          body: { value: 3 },
        })
      ).status,
    ).toBe(200)
    const asked = await Promise.all(Array.from({ length: 8 }, () => makeKey('aldo', id)))
    expect(asked.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409])
    expect(asked.find(({ status }) => status === 409)!.body).toMatchObject({
      code: 'limit_reached',
      details: { policy: 'auth.service_account_max_keys', limit: 3 },
    })
    const { key_id } = asked.find(({ status }) => status === 201)!.body
    const rotate = (overlap_seconds: number) =>
      live.ask('aldo', rotateServiceAccountKey, {
        params: { project_id: project.aurora, service_account_id: id, key_id },
        body: { overlap_seconds },
      })
    expect((await rotate(60)).body.code).toBe('limit_reached')
    // Without an overlap there are never more at a time.
    expect((await rotate(0)).status).toBe(201)
    expect(
      (
        await live.ask('alice', setProjectPolicyValue, {
          params: { project_id: project.aurora, key: 'auth.service_account_max_keys' },
          body: { value: 11 },
        })
      ).body.code,
    ).toBe('policy_out_of_bounds')
    expect(
      (
        await live.ask('alice', removeProjectPolicyValue, {
          params: { project_id: project.aurora, key: 'auth.service_account_max_keys' },
          body: because,
        })
      ).status,
    ).toBe(204)
    expect((await makeKey('aldo', id)).status).toBe(201)
  })

  test('TI-25 nothing is made or changed in a suspended organization or an archived project', async () => {
    const id = await make()
    const { body: key } = await makeKey('aldo', id)
    const changes: [string, string, object][] = [
      ['POST', accounts, { name: 'X', slug: word() }],
      ['POST', keysOf(id), {}],
      ['POST', `${keysOf(id)}/${key.key_id}/rotate`, {}],
      ['DELETE', `${keysOf(id)}/${key.key_id}`, because],
      ['POST', `${one(id)}/disable`, because],
      ['DELETE', one(id), because],
    ]
    for (const [table, state, back] of [
      ['organizations', 'suspended', org.aurora],
      ['projects', 'archived', project.aurora],
    ]) {
      await live.sql(`update ${table} set state = $1 where id = $2`, [state, back])
      for (const [method, path, body] of changes)
        expect([path, (await live.call('aldo', method, path, { body })).body.details]).toMatchObject([
          path,
          { reason_code: 'policy_constraint_denied' },
        ])
      expect(
        (await live.ask('aldo', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })).status,
      ).toBe(200)
      await live.sql(`update ${table} set state = 'active' where id = $1`, [back])
    }
  })
})

describe('making a key counts as granting', () => {
  const powers = ['project.service_account.manage', 'project.service_account.key.create', 'project.service_account.read']

  test('TI-25 whoever holds all that the account has makes a key and rotates one; whoever lacks a part of it does neither', async () => {
    const id = await make()
    const role_id = await define(['storage.read', 'storage.write'])
    expect((await bind('amara', id, { role_id })).status).toBe(201)
    const partly = await holding(people[0]!, [...powers, 'storage.read'])
    const wholly = await holding(people[1]!, [...powers, 'storage.read', 'storage.write'])
    const refused = await makeKey(partly, id, {}, { 'x-request-id': `c-${id}` })
    expect([refused.status, refused.body.details]).toMatchObject([403, ceiling])
    expect(await live.auditOf(`c-${id}`)).toMatchObject([{ result: 'denied', tenant_id: org.aurora }])
    const made = await makeKey(wholly, id)
    expect(made.status).toBe(201)
    const rotate = (person: string) =>
      live.ask(person, rotateServiceAccountKey, {
        params: { project_id: project.aurora, service_account_id: id, key_id: made.body.key_id },
        body: {},
      })
    expect((await rotate(partly)).body.details).toMatchObject(ceiling)
    expect((await rotate(wholly)).status).toBe(201)
    // Taking away needs no such authority.
    expect(
      (
        await live.ask(partly, revokeServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: id, key_id: made.body.key_id },
          body: because,
        })
      ).status,
    ).toBe(204)
    // The whole tier is within an owner's authority.
    expect((await makeKey('amara', id)).status).toBe(201)
  })

  test('TI-25 the ceiling holds for a disabled account, and for what only a disabled role would give', async () => {
    const id = await make()
    const role_id = await define(['storage.write'])
    expect((await bind('amara', id, { role_id })).status).toBe(201)
    const partly = await holding(people[0]!, [...powers, 'storage.read'])
    await live.ask('aldo', disableServiceAccount, { params: { project_id: project.aurora, service_account_id: id }, body: because })
    expect((await makeKey(partly, id)).body.details).toMatchObject(ceiling)
    expect((await makeKey('amara', id)).status).toBe(201)
    await live.ask('aldo', enableServiceAccount, { params: { project_id: project.aurora, service_account_id: id }, body: because })
    const disable = { body: { mode: 'block_all_now' as const, ...because } }
    expect((await live.ask('amara', disableProjectRole, { params: { project_id: project.aurora, role_id }, ...disable })).status).toBe(200)
    expect((await makeKey(partly, id)).body.details).toMatchObject(ceiling)
  })

  test('TI-25 the ceiling looks at what the account has now: a role that ended or was taken away does not count', async () => {
    const id = await make()
    const role_id = await define(['storage.write'])
    const { body: binding } = await bind('amara', id, { role_id })
    const partly = await holding(people[0]!, [...powers, 'storage.read'])
    expect((await makeKey(partly, id)).status).toBe(403)
    await live.ask('amara', endProjectBinding, { params: { project_id: project.aurora, binding_id: binding.id }, body: because })
    expect((await makeKey(partly, id)).status).toBe(201)
  })

  test('E8 override makes no key, and what it does to accounts stands out in the tenant’s log', async () => {
    const id = await make()
    expect((await makeKey('ada', id)).body.details).toMatchObject({ reason_code: 'membership_missing' })
    const disabled = await live.ask('ada', disableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: id },
      body: because,
      headers: { 'x-request-id': `o-${id}` },
    })
    expect(disabled.status).toBe(200)
    expect(await live.auditOf(`o-${id}`)).toMatchObject([{ severity: 'high', tenant_id: org.aurora }])
  })
})

describe('override and the machines of its own user', () => {
  const refused = { status: 403, body: { details: { reason_code: 'permission_denied', detail: 'override_self_grant' } } }
  const makingKeys = ['project.service_account.key.create', 'project.service_account.read']
  /** Of Grace, who is a superadmin, and here an ordinary member who makes keys. */
  const accountWithKey = async (by = 'grace') => {
    const id = await make('grace')
    const key = await makeKey(by, id)
    expect(key.status).toBe(201)
    return { id, key_id: key.body.key_id as string }
  }
  beforeAll(async () => {
    await live.sql('insert into tenant_memberships (id, tenant_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())', [
      org.aurora,
      user('grace'),
    ])
    await live.sql('insert into project_memberships (id, project_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())', [
      project.aurora,
      user('grace'),
    ])
    const body = { principal_type: 'user', principal_id: user('grace'), role_id: await define(makingKeys, {}) } as const
    expect((await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body })).status).toBe(201)
  })

  test('RP-29 a role is not bound by override to an account that one has made a key of, until the key is revoked', async () => {
    const own = await accountWithKey()
    expect(await bind('grace', own.id, { role_name: 'project_member' })).toMatchObject(refused)
    // Another superadmin may, and who holds all of it may anyway.
    expect((await bind('ada', own.id, { role_name: 'project_member' })).status).toBe(201)
    const others = await accountWithKey('aldo')
    expect((await bind('grace', others.id, { role_name: 'project_member' })).status).toBe(201)
    const given_up = await accountWithKey()
    const revoked = await live.ask('aldo', revokeServiceAccountKey, {
      params: { project_id: project.aurora, service_account_id: given_up.id, key_id: given_up.key_id },
      body: because,
    })
    expect(revoked.status).toBe(204)
    expect((await bind('grace', given_up.id, { role_name: 'project_member' })).status).toBe(201)
  })

  test('RP-29 nor is such an account enabled, or a role that it has, or moved to a richer version', async () => {
    const own = await accountWithKey()
    const enable = (person: string) =>
      live.ask(person, enableServiceAccount, { params: { project_id: project.aurora, service_account_id: own.id }, body: because })
    expect(
      (await live.ask('aldo', disableServiceAccount, { params: { project_id: project.aurora, service_account_id: own.id }, body: because }))
        .status,
    ).toBe(200)
    expect(await enable('grace')).toMatchObject(refused)
    expect((await enable('ada')).status).toBe(200)

    const role_id = await define(['allocation.read'])
    expect((await bind('amara', own.id, { role_id })).status).toBe(201)
    expect(
      (
        await live.ask('amara', disableProjectRole, {
          params: { project_id: project.aurora, role_id },
          body: { mode: 'block_all_now', ...because },
        })
      ).status,
    ).toBe(200)
    expect(await live.ask('grace', enableProjectRole, { params: { project_id: project.aurora, role_id }, body: because })).toMatchObject(
      refused,
    )
    expect((await live.ask('ada', enableProjectRole, { params: { project_id: project.aurora, role_id }, body: because })).status).toBe(200)

    const richer = { expected_version: 1, permissions: ['allocation.read', 'storage.read'], ...because }
    expect((await live.ask('amara', updateProjectRole, { params: { project_id: project.aurora, role_id }, body: richer })).status).toBe(200)
    const versions = { from_version: 1, to_version: 2 }
    const preview = await live.ask('grace', previewProjectUpgrade, { params: { project_id: project.aurora, role_id }, body: versions })
    const body = { ...versions, preview_hash: preview.body.preview_hash, ...because }
    expect(await live.ask('grace', upgradeProjectRole, { params: { project_id: project.aurora, role_id }, body })).toMatchObject(refused)
    expect((await live.ask('ada', upgradeProjectRole, { params: { project_id: project.aurora, role_id }, body })).status).toBe(200)
  })
})
