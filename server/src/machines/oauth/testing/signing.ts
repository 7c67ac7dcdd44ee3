import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'

const encoded = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A pair of keys as a client outside holds one, for one algorithm. */
export const keyPair = (alg: 'ES256' | 'EdDSA' | 'RS256' = 'ES256') => {
  const make = {
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: () => generateKeyPairSync('ed25519'),
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  }
  const { publicKey, privateKey } = make[alg]()
  return { alg, privateKey, jwk: publicKey.export({ format: 'jwk' }) as Record<string, string> }
}
export type Pair = ReturnType<typeof keyPair>

const signature = (key: KeyObject, signed: string): Buffer => {
  const bytes = Buffer.from(signed)
  if (key.asymmetricKeyType === 'ed25519') return sign(null, bytes, key)
  return sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' })
}

/** Signs whatever it is given: what is wrong with it is the test's choice. */
export const signedBy = (key: KeyObject, header: unknown, payload: unknown): string => {
  const signed = `${encoded(header)}.${encoded(payload)}`
  return `${signed}.${signature(key, signed).toString('base64url')}`
}

const seconds = () => Math.floor(Date.now() / 1000)

/** An assertion by which a client says who it is, good until something of it is changed. */
export const assertionOf = (
  { alg, privateKey }: Pick<Pair, 'alg' | 'privateKey'>,
  client_id: string,
  aud: unknown,
  { claims = {}, header = {} }: { claims?: object; header?: object } = {},
): string => {
  const said = { iss: client_id, sub: client_id, aud, jti: randomUUID(), iat: seconds(), exp: seconds() + 60, ...claims }
  return signedBy(privateKey, { alg, ...header }, said)
}

/** A proof for one request, good until something of it is changed. */
export const proofOf = (
  { alg, privateKey, jwk }: Pair,
  { method, url, token }: { method: string; url: string; token?: string },
  { claims = {}, header = {} }: { claims?: object; header?: object } = {},
): string => {
  const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
  const said = { jti: randomUUID(), htm: method, htu: url, iat: seconds(), ...ath, ...claims }
  return signedBy(privateKey, { typ: 'dpop+jwt', alg, jwk, ...header }, said)
}
