import { expect, test } from 'vitest'
import { prepareDatabase } from '#process/prepare-database.ts'
import { definitionOf, type PolicyKey, policyDefinitions } from '#rails/policies/policy-definitions.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'

const clone = databaseFixture()

const ask = <Row = Record<string, unknown>>(text: string): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text)).rows as Row[])
const prepare = () => prepareDatabase({ ownerUrl: clone.ownerUrl, appRole: new URL(clone.appUrl).username })
const keys = (Object.keys(policyDefinitions) as PolicyKey[]).sort()
const rows = () =>
  ask('select key, type, purpose, default_value, bounds, scopes, direction from policy_definitions order by key collate "C"')
const expected = keys.map((key) => {
  const { default: value, type, purpose, bounds, scopes, direction } = definitionOf(key)
  return { key, type, purpose, default_value: value ?? null, bounds, scopes, direction }
})
const values = () => ask(`select key, scope_type, value, version from policy_values where replaced_at is null order by key collate "C"`)

test('TI-06 the table of definitions equals the code', async () => {
  expect(await rows()).toEqual(expected)
})

test('TI-06 each default is written once as the global value, and a key without one has no value', async () => {
  const seeded = expected.filter(({ key }) => definitionOf(key).default !== undefined)
  expect(await values()).toEqual(seeded.map(({ key, default_value }) => ({ key, scope_type: 'global', value: default_value, version: 1 })))
  expect(seeded.map(({ key }) => key)).not.toContain('authorization.role_disable_grace_window_seconds')
  expect(seeded).toHaveLength(keys.length - 1)
})

test('TI-06 whatever was done to a definition, the next start repairs it', async () => {
  await ask(`update policy_definitions set type = 'boolean', purpose = '', default_value = '1', bounds = '{}', scopes = '{project}',
               direction = 'most_specific' where key = 'authorization.break_glass_max_seconds'`)
  await prepare()
  expect(await rows()).toEqual(expected)
})

test('TI-06 a value that an operator changed, replaced or ended stays as he left it', async () => {
  await ask(`update policy_values set value = '120', version = 2 where key = 'auth.iam_token_issuer.max_ttl_seconds'`)
  await ask(
    `update policy_values set replaced_at = now() where key in ('rate_limit.api_requests_per_minute', 'authorization.opa.parity_ratio')`,
  )
  await ask(`insert into policy_values (id, key, scope_type, value, version, created_at)
               values (gen_random_uuid(), 'rate_limit.api_requests_per_minute', 'global', '7', 2, now())`)
  const before = await values()
  await prepare()
  await prepare()
  expect(await values()).toEqual(before)
  expect(before).toContainEqual({ key: 'rate_limit.api_requests_per_minute', scope_type: 'global', value: 7, version: 2 })
  expect(before.map(({ key }) => key)).not.toContain('authorization.opa.parity_ratio')
})
