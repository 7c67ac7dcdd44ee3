import { exportPKCS8, importPKCS8 } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unhurried } from '../../../../../test/unhurried.ts'
import { type HumanTokens, humanTokens } from './human-tokens.ts'
import { handClock, type LocalIssuer, type LocalKey, localIssuer, localKey, signText } from './testing/local-issuer.ts'

let issuer: LocalIssuer
let clock: ReturnType<typeof handClock>
let tokens: HumanTokens

beforeEach(async () => {
  issuer = await localIssuer()
  clock = handClock()
  tokens = humanTokens([issuer.settings], { ...clock, ...unhurried.tokens })
})
afterEach(async () => {
  tokens.stop()
  await issuer.stop()
})

const fresh = (key: LocalKey = issuer.key) => signText(key, JSON.stringify(issuer.claims(clock.seconds())))
const outcome = (token: string) =>
  tokens.validate(token).then(
    () => 'accepted',
    (problem) => problem.code,
  )
const outcomeNow = async (key?: LocalKey) => outcome(await fresh(key))
/** A refresh runs behind the requests; this waits until it has been asked for. */
const refreshing = (requests: number) => expect.poll(() => issuer.state.jwks_requests).toBeGreaterThanOrEqual(requests)

test('HO-06 an issuer that is down at first use is 503, and works soon after it is back', async () => {
  issuer.state.answer = 'refuse_connection'
  expect(tokens.ready()).toBe(false)
  expect(await outcomeNow()).toBe('dependency_unavailable')
  issuer.state.answer = 'well'
  clock.pass(1)
  expect(await outcomeNow()).toBe('accepted')
  expect(tokens.ready()).toBe(true)
})

test('HO-06 while an issuer is down it is asked once a second, not once a request', async () => {
  issuer.state.answer = 'error'
  let asked = 0
  const countingFetch: typeof fetch = (...request) => {
    asked += 1
    return fetch(...request)
  }
  const counting = humanTokens([issuer.settings], { ...clock, ...unhurried.tokens, fetch: countingFetch })
  const token = await fresh()
  for (let turn = 0; turn < 20; turn++) await counting.validate(token).catch(() => undefined)
  expect(asked).toBe(1)
  counting.stop()
})

test('HO-06 many first requests at once share one fetch', async () => {
  const token = await fresh()
  expect(new Set(await Promise.all(Array.from({ length: 20 }, () => outcome(token))))).toEqual(new Set(['accepted']))
  expect(issuer.state.jwks_requests).toBe(1)
})

test('HO-06 cached keys serve until their age limit, then 503, then again when the issuer is back', async () => {
  expect(await outcomeNow()).toBe('accepted')
  issuer.state.answer = 'refuse_connection'
  clock.pass(3600)
  expect(await outcomeNow()).toBe('accepted')
  clock.pass(1)
  expect(await outcomeNow()).toBe('dependency_unavailable')
  expect(tokens.ready()).toBe(false)
  issuer.state.answer = 'well'
  clock.pass(1)
  expect(await outcomeNow()).toBe('accepted')
})

test('HO-06 a wall clock set back does not prolong the life of keys', async () => {
  expect(await outcomeNow()).toBe('accepted')
  issuer.state.answer = 'refuse_connection'
  clock.pass(3601)
  clock.setBack(86_400)
  expect(await outcomeNow()).toBe('dependency_unavailable')
})

test('HO-06 keys are refreshed behind the requests, and a withdrawn key stops working', async () => {
  const second = await localKey('second')
  expect(await outcomeNow()).toBe('accepted')
  issuer.state.jwks = { keys: [second.publicJwk] }
  clock.pass(301)
  expect(await outcomeNow()).toBe('accepted')
  await expect.poll(() => outcomeNow()).toBe('token_invalid')
  expect(await outcomeNow(second)).toBe('accepted')
})

test('HO-06 a new key is found at once by the first token that names it', async () => {
  expect(await outcomeNow()).toBe('accepted')
  const second = await localKey('second')
  issuer.state.jwks = { keys: [issuer.key.publicJwk, second.publicJwk] }
  expect(await outcomeNow(second)).toBe('accepted')
  expect(issuer.state.jwks_requests).toBe(2)
})

test('HO-06 a storm of unknown key names causes one refetch in ten seconds', async () => {
  expect(await outcomeNow()).toBe('accepted')
  const stranger = await localKey('stranger')
  const storm = async () => {
    const forged = await Promise.all(Array.from({ length: 100 }, (_, n) => fresh({ ...stranger, kid: `stranger-${n}` })))
    expect(new Set(await Promise.all(forged.map(outcome)))).toEqual(new Set(['token_invalid']))
    for (const token of forged.slice(0, 10)) expect(await outcome(token)).toBe('token_invalid')
  }
  await storm()
  expect(issuer.state.jwks_requests).toBe(2)
  clock.pass(9.9)
  await storm()
  expect(issuer.state.jwks_requests).toBe(2)
  clock.pass(0.1)
  await storm()
  expect(issuer.state.jwks_requests).toBe(3)
})

test('HO-06 a refetch that hangs does not delay a token whose key is known', async () => {
  expect(await outcomeNow()).toBe('accepted')
  let release = () => {}
  issuer.state.answer = (response) => {
    release = () => response.end(JSON.stringify(issuer.state.jwks))
  }
  const waiting = outcomeNow(await localKey('stranger'))
  await refreshing(2)
  const first = await Promise.race([outcomeNow(), waiting.then(() => 'the stranger')])
  expect(first).toBe('accepted')
  release()
  expect(await waiting).toBe('token_invalid')
})

test('HO-06 an issuer that accepts and never answers is given up after three seconds', async () => {
  // They are over when it has accepted.
  const ending = new AbortController()
  const time = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(ending.signal)
  issuer.state.answer = () => ending.abort(new DOMException('', 'TimeoutError'))
  const hurried = humanTokens([issuer.settings], clock)
  await expect(fresh().then(hurried.validate)).rejects.toMatchObject({ code: 'dependency_unavailable' })
  hurried.stop()
  expect(time.mock.calls).toEqual([[3000]])
})

const { publicJwk: spare } = await localKey('spare')
const rsa = await localKey('rsa', 'RS256')
const spoilt: [string, (good: object) => unknown][] = [
  ['two keys of one kid', (good) => ({ keys: [good, { ...spare, kid: 'first' }] })],
  ['10,000 keys', (good) => ({ keys: [good, ...Array.from({ length: 9999 }, (_, n) => ({ kty: 'EC', kid: `${n}` }))] })],
  ['a private key among them', (good) => ({ keys: [good, { ...spare, d: 'AAAA' }] })],
  ['a symmetric key among them', (good) => ({ keys: [good, { kty: 'oct', kid: 'oct', k: 'AAAA' }] })],
  ['a symmetric key that hides its value', (good) => ({ keys: [good, { kty: 'oct', kid: 'oct' }] })],
  ['no key at all', () => ({ keys: [] })],
  ['something that is no key', (good) => ({ keys: [good, 'key'] })],
  ['keys for encryption only', (good) => ({ keys: [{ ...good, use: 'enc' }] })],
  ['more than a megabyte', (good) => ({ keys: [{ ...good, note: 'x'.repeat(1_000_001) }] })],
  ['no set', () => null],
]

test.each(spoilt)('HO-06 a key set with %s is refused as a whole and the old one kept until its age limit', async (_what, spoil) => {
  expect(await outcomeNow()).toBe('accepted')
  issuer.state.jwks = spoil(issuer.key.publicJwk)
  clock.pass(301)
  expect(await outcomeNow()).toBe('accepted')
  await refreshing(2)
  expect(await outcomeNow()).toBe('accepted')
  clock.pass(3300)
  expect(await outcomeNow()).toBe('dependency_unavailable')
})

test.each(spoilt)('HO-06 a first key set with %s is 503', async (_what, spoil) => {
  issuer.state.jwks = spoil(issuer.key.publicJwk)
  expect(await outcomeNow()).toBe('dependency_unavailable')
})

test('HO-06 a redirect is not followed, and a discovery document of another issuer is not believed', async () => {
  issuer.state.answer = 'redirect'
  expect(await outcomeNow()).toBe('dependency_unavailable')
  issuer.state.answer = 'well'
  issuer.state.named = `${issuer.issuer}/`
  clock.pass(1)
  expect(await outcomeNow()).toBe('dependency_unavailable')
})

test('HO-06 another key under a known kid does not open, and an encryption key beside ours does not disturb', async () => {
  issuer.state.jwks = { keys: [issuer.key.publicJwk, { ...rsa.publicJwk, kid: 'enc', use: 'enc', alg: 'RSA-OAEP' }] }
  expect(await outcomeNow()).toBe('accepted')
  expect(await outcomeNow(await localKey('first'))).toBe('token_invalid')
})

test('HO-06 a key serves no algorithm but its own, though the signature is right', async () => {
  const { alg: _alg, ...anyAlg } = rsa.publicJwk
  issuer.state.jwks = { keys: [rsa.publicJwk, { ...anyAlg, kid: 'any' }] }
  const asPss = { ...rsa, alg: 'PS256', privateKey: await importPKCS8(await exportPKCS8(rsa.privateKey), 'PS256') }
  expect(await outcomeNow(rsa)).toBe('accepted')
  expect(await outcomeNow(asPss)).toBe('token_invalid')
  expect(await outcomeNow({ ...asPss, kid: 'any' })).toBe('accepted')
  expect(await outcomeNow({ ...issuer.key, kid: 'any' })).toBe('token_invalid')
})

test('HO-06 a weak RSA key is passed over', async () => {
  const { generateKeyPairSync } = await import('node:crypto')
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  issuer.state.jwks = { keys: [{ ...weak, kid: 'weak', alg: 'RS256' }] }
  expect(await outcomeNow({ ...rsa, kid: 'weak' })).toBe('dependency_unavailable')
})
