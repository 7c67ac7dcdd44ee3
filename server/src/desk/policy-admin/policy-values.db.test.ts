import { listPolicyDefinitions, listProjectPolicyValues, setOrganizationPolicyValue } from '@gatehouse/contract/policies'
import { archiveProject, createProject, restoreProject } from '@gatehouse/contract/projects'
import { describe, expect, test } from 'vitest'
import { definitionOf, type PolicyKey, policyDefinitions } from '#rails/policies/policy-definitions.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture({ policies: noRateLimits })

const { org, project, user } = seeded
const platform = '/api/v1/admin/policies'
const aurora = `/api/v1/orgs/${org.aurora}/policies`
const training = `/api/v1/projects/${project.aurora}/policies`
const borealis = `/api/v1/orgs/${org.borealis}/policies`
const nobody = '01890000-0000-7000-8000-000000000000'

/** Of these the first may only be shortened below the platform, the second is replaced below it, the third is the platform's alone. */
const ttl = 'auth.service_account_token_ttl_seconds'
const invitation = 'tenancy.invitation_ttl_seconds'
const ratio = 'authorization.opa.parity_ratio'
const grace = 'authorization.role_disable_grace_window_seconds'

const put = (person: string, place: string, key: string, body: object, request?: string) =>
  live.call(person, 'PUT', `${place}/values/${key}`, { body, ...(request ? { headers: { 'x-request-id': request } } : {}) })
const remove = (person: string, place: string, key: string, body: object = {}, request?: string) =>
  live.call(person, 'DELETE', `${place}/values/${key}`, { body, ...(request ? { headers: { 'x-request-id': request } } : {}) })
const all = async (person: string, place: string) => {
  const { status, body } = await live.call(person, 'GET', `${place}/values?limit=200`)
  expect(status).toBe(200)
  return body.items as Record<string, unknown>[]
}
const settingOf = async (person: string, place: string, key: string) => (await all(person, place)).find((each) => each.key === key)!
const clear = () => live.sql(`update policy_values set replaced_at = now() where replaced_at is null and scope_type <> 'global'`)

describe('reading', () => {
  test('HO-04 the definitions are those of the code, page by page', async () => {
    const { body } = await live.ask('otto', listPolicyDefinitions, { query: { limit: 200 } })
    const keys = (Object.keys(policyDefinitions) as PolicyKey[]).sort()
    expect(body.items).toEqual(
      keys.map((key) => {
        const { default: first = null, ...defined } = definitionOf(key)
        return { key, ...defined, default: first }
      }),
    )
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await live.call('ada', 'GET', `${platform}/definitions?limit=5${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.body.items.map(({ key }: { key: string }) => key))
      cursor = page.body.next_cursor
    }
    expect(paged).toEqual(keys)
  })

  test('DE-20 each scope tells its own value, and what counts there and from where', async () => {
    await clear()
    expect(await settingOf('otto', platform, ttl)).toEqual({
      key: ttl,
      type: 'integer',
      purpose: definitionOf(ttl).purpose,
      bounds: { minimum: 60, maximum: 86_400 },
      scopes: ['global', 'tenant', 'project'],
      direction: 'tighten_lower',
      value: 3600,
      version: 1,
      effective_value: 3600,
      effective_scope: 'global',
    })
    await put('alice', aurora, ttl, { value: 1800 })
    await put('alice', aurora, invitation, { value: 7200 })
    expect(await settingOf('adam', aurora, ttl)).toMatchObject({ value: 1800, effective_value: 1800, effective_scope: 'tenant' })
    const inherited = { value: null, version: null, effective_value: 1800, effective_scope: 'tenant' }
    expect(await settingOf('aldo', training, ttl)).toMatchObject(inherited)
    await put('alice', training, invitation, { value: 86_400 })
    expect(await settingOf('aldo', training, invitation)).toMatchObject({ effective_value: 86_400, effective_scope: 'project' })
    expect(await settingOf('adam', aurora, invitation)).toMatchObject({ effective_value: 7200, effective_scope: 'tenant' })
    expect(await settingOf('boris', borealis, ttl)).toMatchObject({ value: null, effective_value: 3600, effective_scope: 'global' })
    expect(await settingOf('aldo', training, grace)).toMatchObject({ value: null, effective_value: null, effective_scope: null })
    expect(await settingOf('aldo', training, ratio)).toMatchObject({ value: null, effective_value: 0.9999, effective_scope: 'global' })
  })

  test('AU-05 who may read: operators, tenant admins, project admins, and no others', async () => {
    const read = async (person: string, place: string) => (await live.call(person, 'GET', `${place}/values`)).status
    for (const [person, statuses] of Object.entries({
      ada: [200, 200, 200],
      otto: [200, 403, 403],
      alice: [403, 200, 200],
      adam: [403, 200, 200],
      anna: [403, 403, 403],
      arne: [403, 403, 403],
      amara: [403, 403, 200],
      aldo: [403, 403, 200],
      asha: [403, 403, 403],
      bella: [403, 404, 404],
    }))
      expect([person, await read(person, platform), await read(person, aurora), await read(person, training)]).toEqual([
        person,
        ...statuses,
      ])
    expect((await live.ask('alice', listPolicyDefinitions)).status).toBe(403)
  })
})

describe('setting', () => {
  test('AU-01 a value is set, replaced and ended in versions that count on, and each step is recorded', async () => {
    await clear()
    const first = await put('alice', aurora, invitation, { value: 7200, reason: 'shorter' }, 'set-1')
    expect(first).toMatchObject({
      status: 200,
      body: { key: invitation, scope_type: 'tenant', tenant_id: org.aurora, project_id: null, value: 7200, created_by: user('alice') },
    })
    const { version } = first.body
    const second = await put('alice', aurora, invitation, { value: 7300, expected_version: version }, 'set-2')
    expect(second.body.version).toBe(version + 1)
    expect((await remove('alice', aurora, invitation, { reason: 'enough' }, 'set-3')).status).toBe(204)
    expect(await settingOf('alice', aurora, invitation)).toMatchObject({ value: null, version: null, effective_scope: 'global' })
    expect((await put('alice', aurora, invitation, { value: 7400, expected_version: 0 }, 'set-4')).body.version).toBe(version + 2)
    const rows = await live.sql(
      `select value, version, replaced_at is null as is_current, replaced_by, reason from policy_values
        where key = $1 and tenant_id = $2 and version >= $3 order by version`,
      [invitation, org.aurora, version],
    )
    expect(rows).toEqual([
      { value: 7200, version, is_current: false, replaced_by: user('alice'), reason: 'shorter' },
      { value: 7300, version: version + 1, is_current: false, replaced_by: user('alice'), reason: null },
      { value: 7400, version: version + 2, is_current: true, replaced_by: null, reason: null },
    ])
    const recorded = []
    for (const id of ['set-1', 'set-2', 'set-3', 'set-4']) recorded.push(...(await live.auditOf(id)))
    const told = (action: string, from: number | null, to: number | null, at: number, reason: string | null) => ({
      action: `policy.value.${action}`,
      result: 'success',
      severity: 'info',
      resource_type: 'policy_value',
      resource_id: invitation,
      tenant_id: org.aurora,
      project_id: null,
      actor_id: user('alice'),
      metadata: { key: invitation, scope: 'tenant', from, to, version: at, reason },
    })
    expect(recorded).toMatchObject([
      told('set', null, 7200, version, 'shorter'),
      told('set', 7200, 7300, version + 1, null),
      told('remove', 7300, null, version + 1, 'enough'),
      told('set', null, 7400, version + 2, null),
    ])
  })

  test('AU-01 what reaches all tenants, and what the platform does to one by override, stands out', async () => {
    await put('ada', platform, ratio, { value: 0.5 }, 'high-1')
    await put('ada', aurora, ttl, { value: 600 }, 'high-2')
    await put('alice', training, ttl, { value: 300 }, 'high-3')
    expect(await live.auditOf('high-1')).toMatchObject([{ severity: 'high', tenant_id: null, metadata: { from: 0.9999, to: 0.5 } }])
    expect(await live.auditOf('high-2')).toMatchObject([{ severity: 'high', tenant_id: org.aurora, actor_id: user('ada') }])
    expect(await live.auditOf('high-3')).toMatchObject([{ severity: 'info', tenant_id: org.aurora, project_id: project.aurora }])
  })

  test('AU-05 who may write: superadmins anywhere, the owner in his tenant, nobody else', async () => {
    const write = async (person: string, place: string) =>
      (await put(person, place, place === platform ? ratio : ttl, { value: place === platform ? 0.5 : 60 })).status
    for (const [person, statuses] of Object.entries({
      ada: [200, 200, 200],
      otto: [403, 403, 403],
      alice: [403, 200, 200],
      adam: [403, 403, 403],
      anna: [403, 403, 403],
      amara: [403, 403, 403],
      bella: [403, 404, 404],
    }))
      expect([person, await write(person, platform), await write(person, aurora), await write(person, training)]).toEqual([
        person,
        ...statuses,
      ])
    await clear()
  })

  test('AU-05 a foreign scope and one that does not exist answer alike', async () => {
    const bytes = async (method: string, path: string) => {
      const headers = { 'x-request-id': 'same' }
      const { status, text } = await live.call('alice', method, path, { headers, ...(method === 'GET' ? {} : { body: { value: 60 } }) })
      expect(status).toBe(404)
      return text
    }
    for (const method of ['GET', 'PUT'])
      for (const of of ['orgs', 'projects']) {
        const foreign = of === 'orgs' ? org.borealis : project.borealis
        const end = method === 'PUT' ? `/${ttl}` : ''
        expect(await bytes(method, `/api/v1/${of}/${foreign}/policies/values${end}`)).toBe(
          await bytes(method, `/api/v1/${of}/${nobody}/policies/values${end}`),
        )
      }
  })

  test('DE-21 an archived project has its policy written after it was restored', async () => {
    const made = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body: { name: 'Old', slug: 'old-policies' } })
    const place = `/api/v1/projects/${made.body.id}`
    await live.ask('alice', archiveProject, { params: { project_id: made.body.id }, body: { reason: 'done' } })
    const frozen = { status: 403, body: { details: { reason_code: 'policy_constraint_denied' } } }
    expect(await put('alice', `${place}/policies`, ttl, { value: 60 })).toMatchObject(frozen)
    expect((await live.ask('alice', listProjectPolicyValues, { params: { project_id: made.body.id } })).status).toBe(200)
    await live.ask('alice', restoreProject, { params: { project_id: made.body.id }, body: { reason: 'again' } })
    expect((await put('alice', `${place}/policies`, ttl, { value: 60 })).status).toBe(200)
  })
})

describe('refused, and nothing changes', () => {
  const state = () => live.sql('select id, replaced_at from policy_values order by id')
  const refused = async (person: string, place: string, key: string, value: unknown, rule: string, request: string) => {
    const before = await state()
    const answer = await put(person, place, key, { value }, request)
    expect(answer).toMatchObject({ status: 400, body: { code: 'policy_out_of_bounds', details: { detail: rule } } })
    expect(await state()).toEqual(before)
    return live.auditOf(request)
  }

  test.for([
    ['a text for a number', ttl, '3600'],
    ['a fraction', ttl, 3600.5],
    ['below its bounds', ttl, 59],
    ['beyond its bounds', ttl, 86_401],
    ['nothing', ttl, null],
    ['a list', ttl, [3600]],
    ['an object', ttl, { value: 3600 }],
    ['a text for a yes or no', 'authorization.break_glass_single_person', 'true'],
    ['a list of numbers', 'auth.iam_token_issuer.allowed_audiences', [1]],
    ['a list that is too long', 'auth.iam_token_issuer.allowed_audiences', Array.from({ length: 51 }, (_, at) => `${at}`)],
    ['a map of texts', 'auth.iam_token_issuer.allowed_scopes', { workload: '*' }],
  ] as const)('DE-20 %s does not fit its definition, and the attempt is recorded', async ([what, key, value]) => {
    const rows = await refused('ada', platform, key, value, 'definition', `unfit-${what.replaceAll(' ', '-')}`)
    expect(rows).toMatchObject([
      {
        action: 'policy.value.set',
        result: 'denied',
        reason_code: 'policy_out_of_bounds',
        severity: 'warning',
        actor_id: user('ada'),
        resource_type: 'policy_value',
        resource_id: key,
      },
    ])
  })

  const [audiences, scopes] = ['auth.iam_token_issuer.allowed_audiences', 'auth.iam_token_issuer.allowed_scopes']
  test.for([
    ['no audience', audiences, [], 'empty'],
    ['an audience with a blank', audiences, ['gpuaas-api', 'two words'], 'malformed_audience'],
    ['an audience that no request can name', audiences, ['a'.repeat(201)], 'malformed_audience'],
    ['a star for all audiences', audiences, ['*'], 'malformed_audience'],
    ['an audience twice', audiences, ['gpuaas-api', 'gpuaas-api'], 'repeated'],
    ['no class', scopes, {}, 'empty'],
    ['a class without keys', scopes, { service_account: [] }, 'empty'],
    ['a class that is misspelt', scopes, { 'service-account': ['*'] }, 'unknown_class'],
    ['people', scopes, { user: ['*'] }, 'unknown_class'],
    ['a member of every object', scopes, { toString: ['*'] }, 'unknown_class'],
    ['a key that is not registered', scopes, { service_account: ['allocation.read', 'allocation.rede'] }, 'unknown_key'],
    ['a group of keys', scopes, { service_account: ['allocation.*'] }, 'unknown_key'],
    ['a key that no account can hold', scopes, { service_account: ['allocation.read', 'platform.admin'] }, 'unfit_key'],
    ['a key for a class that carries none', scopes, { node_agent: ['allocation.read'] }, 'unfit_key'],
    ['a key that operators cannot carry', scopes, { shared_runtime_operator: ['allocation.create'] }, 'unfit_key'],
    ['a key twice', scopes, { service_account: ['*', '*'] }, 'repeated'],
    ['every key and one more', scopes, { service_account: ['*', 'allocation.read'] }, 'repeated'],
  ] as const)(
    'TI-06 TI-08 policy set: %s → refused when written, recorded, and tokens are issued as before',
    async ([what, key, value, rule]) => {
      const rows = await refused('ada', platform, key!, value, rule, `nonsense-${what.replaceAll(' ', '-')}`)
      expect(rows).toMatchObject([{ action: 'policy.value.set', result: 'denied', reason_code: 'policy_out_of_bounds', resource_id: key }])
    },
  )

  test('TI-06 policy set: known classes and keys, allowed audiences → written', async () => {
    const values = [
      [audiences, ['gpuaas-api', 'https://storage.example.com/v1']],
      [scopes, { service_account: ['allocation.read', 'storage.read'], shared_runtime_operator: ['*'] }],
    ] as const
    for (const [key, value] of values) {
      const was = definitionOf(key as PolicyKey).default
      expect(await put('ada', platform, key!, { value })).toMatchObject({ status: 200, body: { value } })
      await put('ada', platform, key!, { value: was })
    }
  })

  test('DE-20 a narrower scope loosens nothing that may only be tightened', async () => {
    await clear()
    const rows = await refused('alice', aurora, ttl, 3601, 'tighten_lower', 'loosen-1')
    expect(rows).toMatchObject([{ action: 'policy.value.set', result: 'denied', tenant_id: org.aurora }])
    expect((await put('alice', aurora, ttl, { value: 1800 })).status).toBe(200)
    await refused('alice', training, ttl, 1801, 'tighten_lower', 'loosen-2')
    // Not by override either: the rule is about the value, not about who sets it.
    await refused('ada', training, ttl, 1801, 'tighten_lower', 'loosen-3')
    expect((await put('alice', training, ttl, { value: 1800 })).status).toBe(200)
    expect((await put('alice', training, ttl, { value: 900 })).status).toBe(200)
  })

  test('DE-20 where a wider scope is tightened later, the strictest counts and nobody below is touched', async () => {
    await clear()
    await put('alice', aurora, ttl, { value: 1800 })
    expect((await put('ada', platform, ttl, { value: 600 })).status).toBe(200)
    expect(await settingOf('alice', aurora, ttl)).toMatchObject({ value: 1800, effective_value: 600, effective_scope: 'global' })
    await put('ada', platform, ttl, { value: 3600 })
    expect(await settingOf('alice', aurora, ttl)).toMatchObject({ value: 1800, effective_value: 1800, effective_scope: 'tenant' })
  })

  test('DE-20 a key of the platform alone is set nowhere else', async () => {
    for (const key of [ratio, 'rate_limit.api_requests_per_minute', 'auth.iam_token_issuer.allowed_scopes', grace])
      for (const place of [aurora, training])
        await refused('alice', place, key, definitionOf(key as PolicyKey).default ?? 5, 'scope', `scope-${key}-${place.length}`)
  })

  test('HO-04 a value that fits but would fill the record is too long', async () => {
    const long = { workload: Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(200, 'x')) }
    await refused('ada', platform, 'auth.iam_token_issuer.allowed_scopes', long, 'length', 'long-1')
  })

  test('HO-04 a key that is not defined is no policy, in whatever letters', async () => {
    const unknown = { status: 404, body: { code: 'policy_not_found' } }
    for (const key of ['no.such', 'constructor', 'auth', `${ttl}.`, 'auth.service_account_token_ttl_second'])
      for (const ask of [put('ada', platform, key, { value: 1 }), remove('ada', platform, key)]) expect(await ask).toMatchObject(unknown)
    // The first letter is Cyrillic; the last three are no keys at all.
    for (const key of ['\u0430uth.service_account_token_ttl_seconds', ttl.toUpperCase(), '__proto__', `${ttl} `, 'x'.repeat(101)])
      expect(await put('ada', platform, encodeURIComponent(key), { value: 1 })).toMatchObject({
        status: 400,
        body: { code: 'validation_error', details: { fields: [{ in: 'path', field: 'key' }] } },
      })
  })

  test('HO-04 a hostile body is refused before anything is looked up', async () => {
    const send = (raw: string) => live.call('ada', 'PUT', `${platform}/values/${ttl}`, { raw })
    for (const raw of [
      '{"value":{"__proto__":{"x":1}}}',
      '{"value":1,"value":2}',
      '{"value":1e999}',
      '{"value":"a\\u0000"}',
      '{"value":9007199254740993}',
    ])
      expect(await send(raw)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await send(JSON.stringify({ value: 'x'.repeat(1_000_000) }))).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    expect(await send('{}')).toMatchObject({
      status: 400,
      body: { code: 'validation_error', details: { fields: [{ in: 'body', field: 'value' }] } },
    })
    for (const more of [
      { scope_type: 'global' },
      { tenant_id: org.aurora },
      { version: 7 },
      { expected_version: -1 },
      { expected_version: '1' },
    ])
      expect(await put('ada', platform, ttl, { value: 60, ...more })).toMatchObject({ status: 400, body: { code: 'validation_error' } })
  })

  test('TI-06 what the platform began with can be changed and not taken away; what is not set cannot be ended', async () => {
    expect(await remove('ada', platform, ttl)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    await clear()
    for (const place of [aurora, training])
      expect(await remove('alice', place, ttl)).toMatchObject({ status: 404, body: { code: 'policy_not_found' } })
  })

  test('TI-06 the grace window has no value until an operator sets it, and none again when he ends it', async () => {
    expect(await remove('ada', platform, grace)).toMatchObject({ status: 404, body: { code: 'policy_not_found' } })
    expect((await put('ada', platform, grace, { value: 3600, expected_version: 0 })).status).toBe(200)
    expect(await settingOf('ada', platform, grace)).toMatchObject({ value: 3600, effective_value: 3600 })
    expect((await remove('ada', platform, grace)).status).toBe(204)
    expect(await settingOf('ada', platform, grace)).toMatchObject({ value: null, effective_value: null })
  })
})

describe('two at once', () => {
  test('HO-04 of two who saw the same version one is told that it changed', async () => {
    await clear()
    for (const [place, key] of [
      [platform, ratio],
      [aurora, ttl],
      [training, ttl],
      [platform, grace],
    ] as const)
      for (let round = 0; round < 5; round += 1) {
        const { version } = await settingOf('ada', place, key)
        // A project's must stay within its organization's, whoever won there.
        const value = (n: number) => (key === ratio ? 0.5 + n / 1000 : (place === training ? 60 : 100) + n)
        const both = await Promise.all(
          [1, 2].map((n) => put('ada', place, key, { value: value(round * 2 + n), expected_version: version ?? 0 })),
        )
        expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
        expect(both.find(({ status }) => status === 409)!.body).toMatchObject({
          code: 'version_conflict',
          details: { version: expect.any(Number) },
        })
      }
  })

  test('HO-04 who expects nothing waits for the other, and every version is there once', async () => {
    await clear()
    const many = Array.from({ length: 12 }, (_, n) => put('ada', n % 2 === 0 ? aurora : training, invitation, { value: 3600 + n }))
    for (const { status } of await Promise.all(many)) expect(status).toBe(200)
    const rows = await live.sql<{ versions: number[]; current: number }>(
      `select array_agg(version order by version) as versions, count(*) filter (where replaced_at is null)::int as current
         from policy_values where key = $1 and scope_type <> 'global' group by tenant_id, project_id`,
      [invitation],
    )
    expect(rows).toHaveLength(2)
    for (const { versions, current } of rows) {
      expect(versions).toEqual(versions.map((_, at) => at + 1))
      expect(current).toBe(1)
    }
  })

  test('HO-04 the same key for the same change does it once', async () => {
    const send = () =>
      live.ask('alice', setOrganizationPolicyValue, {
        params: { org_id: org.aurora, key: ttl },
        body: { value: 77 },
        headers: { 'idempotency-key': 'policy-once' },
      })
    const [one, other] = [await send(), await send()]
    expect(one.body).toEqual(other.body)
    expect(one.status).toBe(200)
  })
})
