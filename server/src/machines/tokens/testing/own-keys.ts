import { createHmac, createSecretKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { newId } from '#ground/kernel/ids.ts'
import { lowOf } from '../../keys/es256.ts'
import type { KeySet, VerifyingKey } from '../../keys/key-set.ts'
import type { OwnAlgorithm } from '../signature.ts'

/** A key of ours with both its parts, for tests that forge. */
export interface OwnKey extends VerifyingKey {
  readonly alg: OwnAlgorithm
  readonly makes: (signed: Buffer) => Buffer
}

const pairs = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}
const makers: Record<'ES256' | 'EdDSA', (key: KeyObject) => OwnKey['makes']> = {
  ES256: (key) => (signed) => lowOf(sign('sha256', signed, { key, dsaEncoding: 'ieee-p1363' })),
  EdDSA: (key) => (signed) => sign(null, signed, key),
}

export const ownKey = (alg: OwnAlgorithm = 'ES256', kid = `key-${newId('signing_key')}`): OwnKey => {
  const state = { kid, alg, state: 'active', grace_until: null } as const
  if (alg === 'HS256') {
    const key = createSecretKey(randomBytes(32))
    return { ...state, key, makes: (signed) => createHmac('sha256', key).update(signed).digest() }
  }
  const { publicKey, privateKey } = pairs[alg]()
  return { ...state, key: publicKey, makes: makers[alg](privateKey) }
}

export const keySetOf = (...keys: readonly VerifyingKey[]): KeySet => ({
  signing: undefined,
  published: [],
  verifying: new Map(keys.map((key) => [key.kid, key])),
  installation_epoch: 1,
})

const encoded = (text: string | Buffer) => Buffer.from(text).toString('base64url')

/** A token out of any header and any payload: texts are taken as they are, for what JSON.stringify would not write. */
export const forged = (header: object | string, payload: object | string, makes: (signed: Buffer) => Buffer | string): string => {
  const text = (part: object | string) => (typeof part === 'string' ? part : JSON.stringify(part))
  const signed = `${encoded(text(header))}.${encoded(text(payload))}`
  const signature = makes(Buffer.from(signed, 'ascii'))
  return `${signed}.${typeof signature === 'string' ? signature : encoded(signature)}`
}

export const issuer = 'https://gatehouse.test'
export const audience = 'gpuaas-api'

/** Good claims of a service account's token, issued at this second. */
export const claimsAt = (iat: number, changed: Record<string, unknown> = {}) => ({
  sub: newId('service_account'),
  actor_type: 'service_account',
  iss: issuer,
  aud: audience,
  iat,
  exp: iat + 600,
  jti: newId('token'),
  scope: 'allocation.read me.read',
  org_id: newId('org'),
  project_id: newId('project'),
  ...changed,
})

/** The other signature of P-256 that is as good as this one, which anybody can make of it: with the order of the curve minus the second number. */
export const secondOf = (signature: Buffer): Buffer => {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const second = order - BigInt(`0x${signature.subarray(32).toString('hex')}`)
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(second.toString(16).padStart(64, '0'), 'hex')])
}
