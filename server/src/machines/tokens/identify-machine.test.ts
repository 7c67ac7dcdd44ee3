import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type FreshReader, want } from '#ground/epochs/fresh.ts'
import type { KeySet } from '../keys/key-set.ts'
import { identifyMachine, issuerNamedBy } from './identify-machine.ts'
import type { TokenRecord } from './lineage.ts'
import { typeOf } from './machine-class.ts'
import { audience, claimsAt, forged, issuer, keySetOf, ownKey } from './testing/own-keys.ts'

const iat = 1_900_000_000
const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const key = ownKey()
const claims = claimsAt(iat)
const token = forged({ alg: key.alg, kid: key.kid, typ: typeOf.service_account }, claims, key.makes)
const record: TokenRecord = {
  id: claims.jti,
  actor_type: 'service_account',
  actor_id: claims.sub,
  credential_id: claims.sub,
  parent_id: null,
  act: null,
  org_id: claims.org_id,
  project_id: claims.project_id,
  shared_runtime_id: null,
  typ: typeOf.service_account,
  kid: key.kid,
  audience,
  scope: claims.scope.split(' '),
  cnf_jkt: null,
  epoch: 1,
  issued_at: at(iat + 0.123),
  expires_at: at(claims.exp),
  revoked_at: null,
  is_cut_off: false,
  actor_state: 'active',
  organization_state: 'active',
  project_state: 'active',
  has_credential: true,
  credential_revoked_at: null,
  credential_expires_at: null,
  lineage: null,
}

/** A process, and what it would read now. */
const processOn = () => {
  const world = {
    keys: keySetOf(key) as KeySet | undefined,
    record: record as TokenRecord | undefined,
    now: at(iat + 1),
    reads: [] as number[],
  }
  const source = { name: 'signing keys', textOf: () => 'all', tenantOf: () => null, load: async () => [] }
  const fresh: FreshReader = {
    limit_ms: 1000,
    read: async (wanted) => {
      world.reads.push(wanted.length)
      const values = wanted.map(({ id }) => (id.startsWith('signing keys') ? world.keys : world.record))
      return { moment: { now: world.now, epochs: new Map() }, values: values as never }
    },
  }
  const identify = identifyMachine(
    () => want(source as never, 'all'),
    { issuer, audience },
    async () => async () => {},
  )
  const shown = (text: string) => ({ scheme: 'Bearer', token: text, proof: undefined, method: 'GET', path: '/' }) as const
  const said = (text = token): Promise<unknown> =>
    identify(shown(text), fresh, async () => {}).then(
      ({ type }) => type,
      (error: { code?: string }) => error.code,
    )
  return { world, said, identify: () => identify(shown(token), fresh, async () => {}) }
}

describe('identifying a machine', () => {
  test('TI-15 says who it is, and how far its token reaches', async () => {
    expect(await processOn().identify()).toEqual({
      type: 'service_account',
      id: claims.sub,
      credential_id: record.credential_id,
      home_tenant_id: claims.org_id,
      token: { jti: claims.jti, tenant_id: claims.org_id, project_id: claims.project_id, actions: new Set(record.scope) },
    })
  })

  test('TI-15 a token that was verified before costs one read, and what was not signed by us costs no look at what was issued', async () => {
    const { world, said } = processOn()
    expect(await said()).toBe('service_account')
    expect(world.reads).toEqual([1, 2])
    expect(await said()).toBe('service_account')
    expect(world.reads).toEqual([1, 2, 2])
    const [head, body, signature] = token.split('.') as [string, string, string]
    const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
    expect(await said(`${head}.${body}.${other}`)).toBe('token_invalid')
    expect(world.reads).toEqual([1, 2, 2, 1])
  })

  test('TI-13 a token that was verified before is refused once its key is gone, out of its grace, or another', async () => {
    const { world, said } = processOn()
    expect(await said()).toBe('service_account')
    for (const keys of [
      keySetOf(),
      keySetOf({ ...key, state: 'grace', grace_until: world.now }),
      keySetOf(ownKey('ES256', key.kid)),
      keySetOf(ownKey('HS256', key.kid)),
    ]) {
      world.keys = keys
      expect(await said()).toBe('token_invalid')
    }
    // Read anew, it is another object and the same key.
    world.keys = keySetOf({ ...key, key: createPublicKey(key.key.export({ format: 'pem', type: 'spki' })) })
    expect(await said()).toBe('service_account')
    world.keys = undefined
    expect(await said()).toBe('dependency_unavailable')
  })

  test('TI-15 a token that was verified before ends when the database says so', async () => {
    const { world, said } = processOn()
    expect(await said()).toBe('service_account')
    world.now = at(claims.exp)
    expect(await said()).toBe('token_expired')
    world.now = at(iat - 60)
    expect(await said()).toBe('token_invalid')
  })

  const ends: [string, Partial<TokenRecord>][] = [
    ['revoked', { revoked_at: at(iat) }],
    ['cut off', { is_cut_off: true }],
    ['of another epoch', { epoch: 2 }],
    ['of an earlier epoch', { epoch: 0 }],
    ['without an actor', { actor_state: null }],
    ['of a deleted actor', { actor_state: 'deleted' }],
    ['without its credential', { has_credential: false }],
    ['of a revoked credential', { credential_revoked_at: at(iat) }],
    ['of an expired credential', { credential_expires_at: at(iat + 1) }],
    ['of a suspended organization', { organization_state: 'suspended' }],
    ['of an organization in a state that nobody knows', { organization_state: 'paused' }],
    ['of a deleted organization', { organization_state: null }],
    ['of an archived project', { project_state: 'archived' }],
    ['of no project', { project_state: null }],
    ['recorded as bound to a key', { cnf_jkt: 'A'.repeat(43) }],
    ['recorded for another actor', { actor_id: claims.jti }],
    ['recorded with another id', { id: claims.sub }],
    ['recorded as another class', { actor_type: 'workload' }],
    ['recorded with another type', { typ: typeOf.workload }],
    ['recorded with another key', { kid: 'another-key' }],
    ['recorded for another audience', { audience: 'other' }],
    ['recorded with less', { scope: record.scope.slice(1) }],
    ['recorded in another organization', { org_id: claims.project_id }],
    ['recorded in another project', { project_id: claims.org_id }],
    ['recorded a second earlier', { issued_at: at(iat - 1) }],
    ['recorded with a longer life', { expires_at: at(claims.exp + 1) }],
    ['recorded with a shorter life', { expires_at: at(claims.exp - 1) }],
  ]
  test.each(ends)('TI-15 TI-16 a token that is %s does not count', async (_what, changed) => {
    const { world, said } = processOn()
    expect(await said()).toBe('service_account')
    world.record = { ...record, ...changed }
    expect(await said()).toBe('token_invalid')
  })

  test('TI-15 a disabled account is identified: whoever judges tells it so', async () => {
    const { world, said } = processOn()
    world.record = { ...record, actor_state: 'disabled' }
    expect(await said()).toBe('service_account')
    world.record = { ...record, credential_expires_at: at(iat + 2) }
    expect(await said()).toBe('service_account')
  })

  test('TI-15 T16 a token that was never recorded does not count', async () => {
    const { world, said } = processOn()
    world.record = undefined
    expect(await said()).toBe('token_invalid')
  })
})

test('TI-15 whose token it says it is, in whatever it says it', () => {
  expect(issuerNamedBy(token)).toBe(issuer)
  for (const text of [
    '',
    '.',
    'a.b.c',
    'ghsa_secret',
    `a.${Buffer.from('null').toString('base64url')}.c`,
    `a.${Buffer.from('"x"').toString('base64url')}`,
  ])
    expect(issuerNamedBy(text)).toBe(undefined)
})
