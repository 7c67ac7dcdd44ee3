import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  createServiceAccount,
  createServiceAccountKey,
  listServiceAccountKeys,
  rotateServiceAccountKey,
} from '@gatehouse/contract/service-accounts'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import { expect, test } from 'vitest'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { isSecretOf } from './key-secret.ts'

let account: string
const live = serverFixture({ policies: { ...noRateLimits, 'auth.service_account_max_keys': 100 } }, async (live) => {
  account = (
    await live.ask('aldo', createServiceAccount, {
      params: { project_id: seeded.project.aurora },
      body: { name: 'Robot', slug: 'robot', reason: 'because' },
    })
  ).body.id
})

const make = (body: object, headers: Record<string, string> = {}) =>
  live.ask('aldo', createServiceAccountKey, { params: { project_id: seeded.project.aurora, service_account_id: account }, body, headers })

type Jwk = Record<string, string>
const publicOf = ({ publicKey }: { publicKey: KeyObject }) => publicKey.export({ format: 'jwk' }) as Jwk
const kinds = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

test.each(Object.entries(kinds))('TI-17 TI-25 a public key for %s is a key without a secret; lists say what it is', async (alg, pair) => {
  const jwk = publicOf(pair())
  const described = { ...jwk, alg, use: 'sig', kid: 'mine', key_ops: ['verify'], ext: true }
  const made = await make({ public_jwk: described, reason: 'because' }, { 'x-request-id': `made-${alg}` })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ kind: 'public_key', alg, public_jwk: jwk, state: 'active' })
  // What only describes it is not kept, and there is no secret to show.
  expect(Object.keys(made.body.public_jwk!).sort()).toEqual(Object.keys(jwk).sort())
  expect(made.body).not.toHaveProperty('client_secret')
  const { body } = await live.ask('asha', listServiceAccountKeys, {
    params: { project_id: seeded.project.aurora, service_account_id: account },
  })
  expect(body.items.find(({ key_id }: { key_id: string }) => key_id === made.body.key_id)).toMatchObject({
    kind: 'public_key',
    alg,
    public_jwk: jwk,
  })
  expect(await live.auditOf(`made-${alg}`)).toMatchObject([
    { action: 'service_account.key.create', resource_id: made.body.key_id, metadata: { kind: 'public_key', alg } },
  ])
})

test('TI-17 one with a secret says that it is one, and has no public part', async () => {
  const made = await make({})
  expect(made.body).toMatchObject({ kind: 'secret', alg: null, public_jwk: null, client_secret: expect.stringMatching(/^ghsa_/) })
})

test('TI-25 a key of one kind is rotated into one of the other, and the older one ends', async () => {
  const first = await make({ public_jwk: publicOf(kinds.ES256()) })
  const jwk = publicOf(kinds.EdDSA())
  const rotate = (key_id: string, body: object) =>
    live.ask('aldo', rotateServiceAccountKey, { params: { project_id: seeded.project.aurora, service_account_id: account, key_id }, body })
  const second = await rotate(first.body.key_id, { public_jwk: jwk, overlap_seconds: 0 })
  expect([second.status, second.body.kind, second.body.public_jwk]).toEqual([201, 'public_key', jwk])
  expect(second.body).not.toHaveProperty('client_secret')
  const third = await rotate(second.body.key_id, { overlap_seconds: 60 })
  expect([third.body.kind, third.body.public_jwk]).toEqual(['secret', null])
  const { body } = await live.ask('aldo', listServiceAccountKeys, {
    params: { project_id: seeded.project.aurora, service_account_id: account },
    query: { limit: 200 },
  })
  const stateOf = (key_id: string) => body.items.find((key) => key.key_id === key_id)!.state
  expect([first, second, third].map((each) => stateOf(each.body.key_id))).toEqual(['revoked', 'active', 'active'])
})

const es = publicOf(kinds.ES256())
const short = publicOf(generateKeyPairSync('rsa', { modulusLength: 1024 }))
const rsa = publicOf(kinds.RS256())
const refused: [what: string, jwk: object][] = [
  ['RSA of 1024 bits', short],
  ['RSA of 8192 bits', { ...rsa, n: Buffer.alloc(1024, 0xff).toString('base64url') }],
  ['RSA with the exponent 3', { ...rsa, e: 'Aw' }],
  ['RSA whose modulus is even', { ...rsa, n: Buffer.from(rsa.n!, 'base64url').fill(0x80, 255).toString('base64url') }],
  [
    'RSA whose length is made of zeros',
    { ...short, n: Buffer.concat([Buffer.alloc(128), Buffer.from(short.n!, 'base64url')]).toString('base64url') },
  ],
  ['a point that is not on the curve', { ...es, y: es.x }],
  ['a point of small order', { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32).toString('base64url') }],
  ['another curve', publicOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }))],
  ['a curve under another kind', { ...es, kty: 'OKP' }],
  ['a shared secret', { kty: 'oct', k: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ['an algorithm that is not the key’s', { ...es, alg: 'RS256' }],
  ['a key for encryption', { ...es, use: 'enc' }],
  ['a key to sign with', { ...es, key_ops: ['sign'] }],
  ['members of two kinds', { ...es, n: rsa.n, e: rsa.e }],
  ['half a key', { kty: 'EC', crv: 'P-256', x: es.x }],
  ['nothing', {}],
]
test.each(refused)('TI-13 %s is not taken for a key', async (_what, public_jwk) => {
  const { status, body } = await make({ public_jwk })
  expect([status, body.code]).toEqual([400, 'validation_error'])
  expect(body.details!.fields!.every(({ field }) => field.startsWith('public_jwk'))).toBe(true)
})

test('TI-11 whoever sends the private part is refused, is not answered with it, and leaves nothing behind', async () => {
  for (const pair of Object.values(kinds)) {
    const jwk = pair().privateKey.export({ format: 'jwk' }) as Jwk
    const { status, text } = await make({ public_jwk: jwk })
    expect(status).toBe(400)
    expect(text).not.toContain(jwk.d)
    const [left] = await live.sql<{ found: boolean }>(
      `select exists (select from audit_logs where audit_logs::text like $1) or exists (select from service_account_keys k where k::text like $1) as found`,
      [`%${jwk.d}%`],
    )
    expect(left).toEqual({ found: false })
  }
})

test('TI-11 no secret opens a public key', async () => {
  expect(isSecretOf({ salt: null, secret_hash: null }, '')).toBe(false)
  const made = await make({ public_jwk: publicOf(kinds.ES256()) })
  for (const client_secret of ['x', `ghsa_${'A'.repeat(49)}`]) {
    const body = { service_account_id: account, key_id: made.body.key_id, client_secret }
    expect((await live.ask(null, issueServiceAccountToken, { body })).status).toBe(401)
  }
})
