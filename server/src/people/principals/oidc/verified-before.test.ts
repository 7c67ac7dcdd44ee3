import { afterEach, beforeEach, expect, test } from 'vitest'
import { unhurried } from '../../../../../test/unhurried.ts'
import { type HumanTokens, humanTokens } from './human-tokens.ts'
import { handClock, type LocalIssuer, localIssuer, localKey, signText } from './testing/local-issuer.ts'

let issuer: LocalIssuer
let tokens: HumanTokens
let clock: ReturnType<typeof handClock>
beforeEach(async () => {
  issuer = await localIssuer()
  clock = handClock()
  tokens = humanTokens([{ ...issuer.settings, jwks_refresh_seconds: 10, jwks_max_age_seconds: 60, clock_skew_seconds: 5 }], {
    ...clock,
    ...unhurried.tokens,
  })
})
afterEach(async () => {
  tokens.stop()
  await issuer.stop()
})

const token = (lasts: number) => signText(issuer.key, JSON.stringify(issuer.claims(clock.seconds(), { exp: clock.seconds() + lasts })))
const said = (text: string) =>
  tokens.validate(text).then(
    ({ subject }) => subject,
    (error: { code?: string }) => error.code,
  )

test('HO-06 a token that was verified before ends when it says, as if it were seen for the first time', async () => {
  const text = await token(20)
  expect([await said(text), await said(text)]).toEqual(['alice', 'alice'])
  clock.pass(24)
  expect(await said(text)).toBe('alice')
  clock.pass(1)
  expect(await said(text)).toBe('token_expired')
})

test('HO-06 a token that was verified before is refused once its key is withdrawn', async () => {
  const text = await token(600)
  expect(await said(text)).toBe('alice')
  issuer.state.jwks = { keys: [(await localKey('second')).publicJwk] }
  clock.pass(11)
  await expect.poll(() => said(text)).toBe('token_invalid')
})

test('HO-06 a token that was verified before is refused once its kid names another key', async () => {
  const text = await token(600)
  expect(await said(text)).toBe('alice')
  issuer.state.jwks = { keys: [(await localKey('first')).publicJwk] }
  clock.pass(11)
  await expect.poll(() => said(text)).toBe('token_invalid')
})

test('HO-06 a token that was verified before is judged anew when the clock is set back before that', async () => {
  const text = await token(600)
  expect(await said(text)).toBe('alice')
  clock.setBack(60)
  expect(await said(text)).toBe('token_invalid')
})

test('HO-06 bytes that differ from a verified token in its signature alone are not it', async () => {
  const text = await token(600)
  expect(await said(text)).toBe('alice')
  const [header, payload, signature] = text.split('.') as [string, string, string]
  const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  expect(await said(`${header}.${payload}.${other}`)).toBe('token_invalid')
})
