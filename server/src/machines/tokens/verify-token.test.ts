import { createHmac, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import type { VerifyingKey } from '../keys/key-set.ts'
import { typeOf } from './machine-class.ts'
import { isSignedWith, ownAlgorithms } from './signature.ts'
import { audience, claimsAt, forged, issuer, keySetOf, type OwnKey, ownKey, secondOf } from './testing/own-keys.ts'
import { requireTime, verifyToken } from './verify-token.ts'

const iat = 1_900_000_000
const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const now = at(iat + 60)
const typ = typeOf.service_account

const key = ownKey()
const headerOf = ({ alg, kid }: VerifyingKey, changed: object = {}) => ({ alg, kid, typ, ...changed })
const good = forged(headerOf(key), claimsAt(iat), key.makes)

/** How a token is answered: by both halves, as a request would be. */
const said = (token: string, keys = keySetOf(key), when = now, accepted = { issuer, audience }): string => {
  try {
    const { claims } = verifyToken(token, keys, accepted, when)
    requireTime(claims, when)
    return 'accepted'
  } catch (error) {
    return (error as { code: string }).code
  }
}
const signed = (header: object | string, payload: object | string, by: OwnKey = key) => forged(header, payload, by.makes)

describe('the validator', () => {
  test.each(ownAlgorithms)('TI-15 accepts what a key for %s of ours signed, and what it says', (alg) => {
    const own = ownKey(alg)
    const claims = claimsAt(iat)
    const token = signed(headerOf(own), claims, own)
    expect(said(token, keySetOf(key, own))).toBe('accepted')
    expect(verifyToken(token, keySetOf(own), { issuer, audience }, now)).toEqual({ kid: own.kid, key: own.key, typ, claims })
  })

  test('TI-15 the other one of the two signatures of an ES256 key is no spelling of its token', () => {
    const [header, payload, signature] = good.split('.') as [string, string, string]
    const second = secondOf(Buffer.from(signature, 'base64url'))
    expect(isSignedWith(key, Buffer.from(`${header}.${payload}`), second)).toBe(true)
    expect([said(good), said(`${header}.${payload}.${second.toString('base64url')}`)]).toEqual(['accepted', 'token_invalid'])
  })

  test('TI-15 a token has exactly one spelling', () => {
    const [header, payload, signature] = good.split('.') as [string, string, string]
    const last = signature.at(-1)!
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 64 bytes leave four spare bits in the last character: fifteen more texts that a lenient reader takes for the same bytes.
    const spare = [...alphabet].filter((letter) => Buffer.from(`A${letter}`, 'base64url').equals(Buffer.from(`A${last}`, 'base64url')))
    expect(spare).toHaveLength(16)
    const others = [
      ...spare.filter((letter) => letter !== last).map((letter) => `${header}.${payload}.${signature.slice(0, -1)}${letter}`),
      `${good}=`,
      `${good}==`,
      ` ${good}`,
      `${good}\n`,
      `${good}.`,
      `${header}=.${payload}.${signature}`,
      `${header}.${payload} .${signature}`,
      `${header}.${payload}.${signature.slice(0, 10)}\t${signature.slice(10)}`,
      good.replaceAll('-', '+').replaceAll('_', '/'),
    ].filter((text) => text !== good)
    for (const other of others) expect(said(other), other).toBe('token_invalid')
    expect(said(good)).toBe('accepted')
  })

  test('TI-15 the header has its three members and no other', () => {
    const members = headerOf(key)
    for (const name of Object.keys(members)) {
      const { [name as 'alg']: _gone, ...rest } = members
      expect(said(signed(rest, claimsAt(iat))), `without ${name}`).toBe('token_invalid')
    }
    for (const more of ['crit', 'b64', 'zip', 'cty', 'x5t', 'nonce', 'iss', 'extra'])
      expect(said(signed({ ...members, [more]: more === 'b64' ? true : 'x' }, claimsAt(iat))), more).toBe('token_invalid')
    expect(said(signed(JSON.stringify(members).replace('{', `{"kid":"other",`), claimsAt(iat)))).toBe('token_invalid')
    expect(said(signed(members, JSON.stringify(claimsAt(iat)).replace('{', `{"aud":"other",`)))).toBe('token_invalid')
  })

  test('TI-15 an unknown kid, and one whose key did not sign, are refused', () => {
    const other = ownKey()
    expect(said(signed(headerOf(other), claimsAt(iat), other))).toBe('token_invalid')
    expect(said(signed(headerOf(key), claimsAt(iat), other), keySetOf(key, other))).toBe('token_invalid')
    expect(said(signed(headerOf(key, { kid: '__proto__' }), claimsAt(iat)))).toBe('token_invalid')
  })

  test('TI-13 a key in grace verifies until its grace is over, to the millisecond', () => {
    const grace = (until: number): VerifyingKey => ({ ...key, state: 'grace', grace_until: new Date(until).toISOString() })
    const then = Date.parse(now)
    expect([1, 0, -1].map((ahead) => said(good, keySetOf(grace(then + ahead))))).toEqual(['accepted', 'token_invalid', 'token_invalid'])
    expect(said(good, keySetOf({ ...key, state: 'grace', grace_until: null }))).toBe('token_invalid')
  })
})

describe('TI-15 T1: no algorithm', () => {
  const [, payload, signature] = good.split('.') as [string, string, string]
  const reheaded = (alg: unknown, last: string) =>
    `${Buffer.from(JSON.stringify({ ...headerOf(key), alg })).toString('base64url')}.${payload}.${last}`
  const attacks = ['none', 'None', 'NONE', 'nOnE', '', null, 0, ['none']].flatMap((alg) =>
    ['', signature, 'AAAA', Buffer.alloc(64).toString('base64url')].map((last) => [alg, last] as const),
  )

  test.each(attacks)('TI-15 T1 alg %j with signature %j is refused', (alg, last) => {
    expect(said(reheaded(alg, last))).toBe('token_invalid')
  })

  test('TI-15 T1 control: a verifier that takes the algorithm from the header is opened by it', () => {
    const lax = (token: string) => {
      const { alg } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { alg: string }
      return /^(none)?$/i.test(String(alg)) ? 'accepted' : said(token)
    }
    expect(attacks.filter(([alg]) => typeof alg === 'string').map(([alg, last]) => lax(reheaded(alg, last)))).toContain('accepted')
  })
})

describe('TI-15 T2: one key taken for another', () => {
  const publicSpellings = ({ key: known }: VerifyingKey): [string, Buffer][] => {
    const jwk = known.export({ format: 'jwk' }) as JsonWebKey
    const pem = known.export({ format: 'pem', type: 'spki' }) as string
    return [
      ['JWK', Buffer.from(JSON.stringify(jwk))],
      ['PEM', Buffer.from(pem)],
      ['PEM without a newline', Buffer.from(pem.trimEnd())],
      ['DER', known.export({ format: 'der', type: 'spki' })],
      ['raw x', Buffer.from(jwk.x!, 'base64url')],
    ]
  }
  const hashes = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const

  for (const known of [key, ownKey('EdDSA')])
    for (const [spelling, secret] of publicSpellings(known))
      test.each(Object.entries(hashes))(`TI-15 T2 the public ${known.alg} key as ${spelling} is no secret for %s`, (alg, hash) => {
        const token = forged(headerOf(known, { alg }), claimsAt(iat), (text) => createHmac(hash, secret).update(text).digest())
        expect(said(token, keySetOf(known))).toBe('token_invalid')
        // The same with a secret of ours beside it, whose algorithm that is.
        expect(said(token, keySetOf(known, ownKey('HS256')))).toBe('token_invalid')
        // The control: who takes the algorithm from the header and the key from the set is opened by it.
        const [head, body, last] = token.split('.') as [string, string, string]
        expect(createHmac(hash, secret).update(`${head}.${body}`).digest('base64url')).toBe(last)
      })

  test('TI-15 T2 a kid serves no algorithm but that of its key', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const others = ownAlgorithms.map((alg) => ownKey(alg))
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES384', 'ES512', 'ES256K', 'Ed25519', ...ownAlgorithms])
      for (const known of others) {
        if (alg === known.alg) continue
        const makers = [known.makes, ...others.map(({ makes }) => makes), (text: Buffer) => sign('sha256', text, rsa)]
        for (const makes of makers)
          expect(said(forged(headerOf(known, { alg }), claimsAt(iat), makes), keySetOf(...others))).toBe('token_invalid')
      }
  })

  test('TI-15 T2 a key that stands under the wrong algorithm verifies nothing', () => {
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const wrong: OwnKey = {
      ...key,
      key: curve.publicKey,
      makes: (text) => sign('sha256', text, { key: curve.privateKey, dsaEncoding: 'ieee-p1363' }),
    }
    const edwards = ownKey('EdDSA', key.kid)
    expect(said(signed(headerOf(key), claimsAt(iat), wrong), keySetOf(wrong))).toBe('token_invalid')
    expect(said(signed(headerOf(key), claimsAt(iat), edwards), keySetOf({ ...edwards, alg: 'ES256' }))).toBe('token_invalid')
    expect(said(signed(headerOf(key), claimsAt(iat)), keySetOf({ ...key, alg: 'HS256' }))).toBe('token_invalid')
  })

  test('TI-15 a signature that is not of the right length is not looked at', () => {
    const cut = (change: (signature: Buffer) => Buffer) => forged(headerOf(key), claimsAt(iat), (text) => change(key.makes(text)))
    expect(said(cut((whole) => whole))).toBe('accepted')
    for (const change of [
      (whole: Buffer) => whole.subarray(0, 63),
      (whole: Buffer) => Buffer.concat([whole, Buffer.alloc(1)]),
      (whole: Buffer) => Buffer.concat([Buffer.alloc(1), whole]),
      () => Buffer.alloc(64),
    ])
      expect(said(cut(change))).toBe('token_invalid')
    // In the spelling of certificates, which some verifiers take as well.
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const der = forged(headerOf(key), claimsAt(iat), (text) => sign('sha256', text, privateKey))
    expect(said(der, keySetOf({ ...key, key: publicKey }))).toBe('token_invalid')
  })
})

test('TI-15 T3 a key that the token brings along, or says where to fetch, is neither used nor fetched', async () => {
  const thief = ownKey('ES256', key.kid)
  const jwk = { ...(thief.key.export({ format: 'jwk' }) as JsonWebKey), kid: key.kid, alg: 'ES256' }
  let connections = 0
  const listener = createServer((_request, response) => void response.end(JSON.stringify({ keys: [jwk] })))
  listener.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys`
  const certificate = thief.key.export({ format: 'der', type: 'spki' }).toString('base64')
  const headers = [{ jwk }, { jku: url }, { x5u: url }, { x5c: [certificate] }, { jwk, jku: url, x5u: url, x5c: [certificate] }]
  for (const more of headers) {
    expect(said(signed(headerOf(key, more), claimsAt(iat), thief))).toBe('token_invalid')
    // Also where the signature is right.
    expect(said(signed(headerOf(key, more), claimsAt(iat)))).toBe('token_invalid')
  }
  expect(said(signed(headerOf(key, { kid: url }), claimsAt(iat), thief))).toBe('token_invalid')
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(connections).toBe(0)
  // The control: the listener does count.
  await (await fetch(url)).text()
  expect(connections).toBe(1)
  listener.closeAllConnections()
  await new Promise((resolve) => listener.close(resolve))
})

describe('TI-15 T6: the algebra of claims', () => {
  const own = {
    service_account: claimsAt(iat),
    shared_runtime_operator: (() => {
      const { project_id: _none, ...rest } = claimsAt(iat, { actor_type: 'shared_runtime_operator' })
      return { ...rest, shared_runtime_id: newId('shared_runtime') }
    })(),
  }
  const wrongs: [string, unknown][] = [
    ['null', null],
    ['empty', ''],
    ['a number', 7],
    ['true', true],
    ['a list of itself', 'itself'],
    ['an object', {}],
    ['blank', ' '],
  ]
  for (const [name, claims] of Object.entries(own) as [keyof typeof own, Record<string, unknown>][]) {
    const header = headerOf(key, { typ: typeOf[name] })
    const saidOf = (changed: object) => said(signed(header, changed))
    test(`TI-15 T6 the claims of a ${name} are accepted as they are`, () => {
      expect(saidOf(claims)).toBe('accepted')
    })
    test.each(Object.keys(claims))(`TI-15 T6 ${name}: %s absent, empty or of another kind is refused`, (claim) => {
      const { [claim]: value, ...rest } = claims
      expect(saidOf(rest), 'absent').toBe('token_invalid')
      for (const [what, wrong] of wrongs)
        expect(saidOf({ ...claims, [claim]: wrong === 'itself' ? [value] : wrong }), what).toBe(
          // Seven is a second, long ago.
          claim === 'iat' && wrong === 7 ? 'accepted' : 'token_invalid',
        )
    })
    test(`TI-15 T6 ${name}: a claim more is refused`, () => {
      for (const more of ['nbf', 'client_id', 'cnf', 'act', 'role', 'admin', 'shared_runtime_id', 'project_id', 'node_id'])
        if (!(more in claims)) expect(saidOf({ ...claims, [more]: newId('org') }), more).toBe('token_invalid')
    })
  }

  const numbers = ['"1900000600"', '1900000600.5', '-1900000600', '1e400', '-1', '0', '9007199254740993', 'NaN', '[1900000600]', 'true']
  test.each(numbers)('TI-15 T6 exp or iat written as %s is refused', (written) => {
    for (const name of ['exp', 'iat']) {
      const text = JSON.stringify(claimsAt(iat)).replace(new RegExp(`"${name}":\\d+`), `"${name}":${written}`)
      expect(text).toContain(written)
      expect(said(signed(headerOf(key), text)), name).toBe('token_invalid')
    }
  })

  test('TI-15 T6 a token ends at its second by the database, and begins five seconds early at most', () => {
    const exp = iat + 600
    const token = signed(headerOf(key), claimsAt(iat))
    const by = (seconds: number) => said(token, keySetOf(key), at(seconds))
    expect([exp - 1, exp - 0.001, exp, exp + 0.001, exp + 1].map(by)).toEqual([
      'accepted',
      'accepted',
      'token_expired',
      'token_expired',
      'token_expired',
    ])
    expect([iat - 6, iat - 5.001, iat - 5, iat - 4, iat].map(by)).toEqual([
      'token_invalid',
      'token_invalid',
      'accepted',
      'accepted',
      'accepted',
    ])
    for (const end of [iat, iat - 1]) expect(said(signed(headerOf(key), claimsAt(iat, { exp: end })))).toBe('token_invalid')
  })

  test('TI-15 T6 T7 the audience is one text and ours', () => {
    for (const aud of ['gpuaas-ap', 'GPUAAS-API', 'gpuaas-api ', 'other', [audience], [audience, 'other'], { 0: audience }, '*'])
      expect(said(signed(headerOf(key), claimsAt(iat, { aud })))).toBe('token_invalid')
    expect(said(good, keySetOf(key), now, { issuer, audience: 'other' })).toBe('token_invalid')
  })

  test('TI-15 T6 the issuer is us, letter by letter', () => {
    for (const iss of [`${issuer}/`, issuer.toUpperCase(), issuer.replace('https', 'http'), `${issuer} `, [issuer]])
      expect(said(signed(headerOf(key), claimsAt(iat, { iss })))).toBe('token_invalid')
  })
})

describe('TI-15 T7 T8: what a token is', () => {
  test('TI-15 T7 the type of another class, of a person or of an ID token is refused', () => {
    for (const other of [...Object.values(typeOf), 'at+jwt', 'JWT', 'jwt', 'application/sa+jwt', 'SA+JWT', '', 'constructor'])
      if (other !== typ) expect(said(signed(headerOf(key, { typ: other }), claimsAt(iat))), other).toBe('token_invalid')
  })

  test('TI-13 TI-17 RFC 8725 neither an assertion of a client nor a proof is taken for a token, whatever else they say', () => {
    for (const other of ['dpop+jwt', 'client-authentication+jwt', 'application/dpop+jwt', 'JWT', undefined])
      expect(said(signed({ ...headerOf(key), typ: other }, claimsAt(iat))), other).toBe('token_invalid')
  })

  test('TI-15 T7 an ID token, also one that is signed with our key and for us, is no access token', () => {
    const id = { iss: issuer, aud: audience, sub: newId('user'), iat, exp: iat + 600, nonce: 'n', at_hash: 'h' }
    for (const each of [typ, 'JWT', undefined]) expect(said(signed({ ...headerOf(key), typ: each }, id))).toBe('token_invalid')
    expect(said(signed(headerOf(key), { ...claimsAt(iat), nonce: 'n' }))).toBe('token_invalid')
  })

  test('TI-15 T8 the class is what the type says and not what a claim says besides', () => {
    const runtime = newId('shared_runtime')
    const both = claimsAt(iat, { sub: runtime, shared_runtime_id: runtime })
    for (const each of Object.values(typeOf))
      for (const actor_type of [...Object.keys(typeOf), 'user', 'system'])
        expect(said(signed(headerOf(key, { typ: each }), { ...both, actor_type })), `${each} ${actor_type}`).toBe('token_invalid')
  })
})
