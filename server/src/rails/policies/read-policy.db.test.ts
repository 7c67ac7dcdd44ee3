import { beforeEach, describe, expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { fixture } from '../../../../test/fixture.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { definitionOf, type PolicyKey, policyDefinitions } from './policy-definitions.ts'
import { pastValues } from './policy-queries.ts'
import { readPolicy } from './read-policy.ts'

const clone = databaseFixture(async () => {
  await ask('create table policy_values_before as select * from policy_values')
})
const database = fixture(
  () => openDatabase({ url: clone.appUrl, ...unhurried.database }),
  (opened) => opened.close(),
)
beforeEach(() => ask('delete from policy_values; insert into policy_values select * from policy_values_before'))

const ask = (text: string, values: unknown[] = []) => asSuperuser(clone.ownerUrl, (client) => client.query(text, values))
const put = (key: PolicyKey, value: unknown) => ask('update policy_values set value = $2 where key = $1', [key, JSON.stringify(value)])
const read = (key: PolicyKey) => readPolicy(database.reader, key)

const refusal = async (key: PolicyKey): Promise<string> => {
  try {
    await read(key)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // The caller is not told which; the log is.
    expect(error.details).toBeUndefined()
    return `${error.status} ${error.code}: ${(error.cause as Error).message}`
  }
  return 'it was read'
}

const keys = Object.keys(policyDefinitions) as PolicyKey[]
const valued = keys.filter((key) => definitionOf(key).default !== undefined)
const key = 'auth.iam_token_issuer.max_ttl_seconds'

test.each(valued)('%s is read as it was seeded', async (each) => {
  expect(await read(each)).toEqual(definitionOf(each).default)
})

test('TI-06 a value set within its bounds is read from then on', async () => {
  await put(key, 61)
  expect(await read(key)).toBe(61)
  await put('authorization.break_glass_single_person', true)
  expect(await read('authorization.break_glass_single_person')).toBe(true)
})

test('DE-20 what the platform’s value was, and until when, is told of the key that was asked about; a tenant’s is not', async () => {
  const [then, later] = ['2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z']
  await ask('delete from policy_values where key = $1', [key])
  await ask(`insert into organizations (id, type, name, slug, created_at) values (gen_random_uuid(), 'enterprise', 'P', 'past', now())`)
  await ask(
    `insert into policy_values (id, key, scope_type, tenant_id, value, version, created_at, replaced_at)
       values (gen_random_uuid(), '${key}', 'global', null, '61', 1, '${then}', '${later}'),
              (gen_random_uuid(), '${key}', 'global', null, '62', 2, '${later}', null),
              (gen_random_uuid(), '${key}', 'tenant', (select id from organizations), '60', 1, '${then}', null)`,
  )
  const past = await database.reader.many(pastValues(key))
  expect(past.toSorted((a, b) => Number(a.value) - Number(b.value))).toEqual([
    { value: 61, created_at: then, replaced_at: later },
    { value: 62, created_at: later, replaced_at: null },
  ])
  await ask(`delete from policy_values where scope_type = 'tenant'; delete from organizations`)
})

describe('no limit is made up', () => {
  test('TI-06 a key without a value is 503, whatever its default', async () => {
    expect(await refusal('authorization.role_disable_grace_window_seconds')).toContain('503 policy_unavailable: policy')
    await ask('delete from policy_values where key = $1', [key])
    expect(await refusal(key)).toBe(`503 policy_unavailable: policy ${key} is missing`)
  })

  test('TI-06 a value that was ended is no value', async () => {
    await ask('update policy_values set replaced_at = now() where key = $1', [key])
    expect(await refusal(key)).toContain('is missing')
  })

  test.each(['3600', null, true, 3600.5, 59, 86_401, -1, 1e300, [], {}, { value: 3600 }])('%o is 503', async (value) => {
    await put(key, value)
    expect(await refusal(key)).toBe(`503 policy_unavailable: policy ${key} is unreadable`)
  })

  test.each([
    ['auth.iam_token_issuer.allowed_audiences', 'gpuaas-api'],
    ['auth.iam_token_issuer.allowed_audiences', [1]],
    ['auth.iam_token_issuer.allowed_scopes', { workload: '*' }],
    ['authorization.break_glass_single_person', 'false'],
    ['authorization.break_glass_single_person', 0],
    ['authorization.opa.parity_ratio', 1.0001],
    ['rate_limit.api_requests_per_minute', 0],
  ] as const)('%s = %o is 503', async (each, value) => {
    await put(each, value)
    expect(await refusal(each)).toContain('is unreadable')
  })

  test("a tenant's own row is not read where the policy is global", async () => {
    await ask('delete from policy_values where key = $1', [key])
    await ask(`insert into organizations (id, type, name, slug, created_at) values (gen_random_uuid(), 'enterprise', 'A', 'a', now())`)
    await ask(
      `insert into policy_values (id, key, scope_type, tenant_id, value, version, created_at)
         select gen_random_uuid(), $1, 'tenant', id, '600', 1, now() from organizations`,
      [key],
    )
    expect(await refusal(key)).toContain('is missing')
  })
})
