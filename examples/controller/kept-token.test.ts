import { expect, test } from 'vitest'
import { keptToken } from './kept-token.ts'

/** Tokens of a hundred seconds, numbered; `fail` is what comes instead of the next. */
const keeping = (chance = 0) => {
  const clock = { now: 0, asked: 0, fail: undefined as Error | undefined }
  const token = keptToken({
    ask: async () => {
      clock.asked += 1
      if (clock.fail) throw clock.fail
      return { access_token: `token-${clock.asked}`, expires_in_seconds: 100 }
    },
    isRefused: (error) => (error as Error).message === 'refused',
    now: () => clock.now,
    chance: () => chance,
  })
  return { clock, token }
}

test.for([
  [0, 60_000],
  [1, 70_000],
] as const)('TI-24 a token is renewed early, by the life that its answer told: chance %s', async ([chance, renew_at]) => {
  const { clock, token } = keeping(chance)
  expect(await token()).toBe('token-1')
  clock.now = renew_at - 1
  expect(await token()).toBe('token-1')
  clock.now = renew_at
  expect(await token()).toBe('token-2')
})

test('of several who ask at once one gets it for all', async () => {
  const { clock, token } = keeping()
  expect(new Set(await Promise.all([token(), token(), token()])).size).toBe(1)
  expect(clock.asked).toBe(1)
})

test('a token that was refused is not shown again, and another that came meanwhile is', async () => {
  const { clock, token } = keeping()
  expect(await token()).toBe('token-1')
  expect(await token('token-1')).toBe('token-2')
  expect(await token('token-1')).toBe('token-2')
  expect(clock.asked).toBe(2)
})

test('an early renewal may fail until the token ends, and is not tried with each call', async () => {
  const { clock, token } = keeping()
  await token()
  clock.fail = new Error('no answer')
  clock.now = 61_000
  expect(await token()).toBe('token-1')
  expect(await token()).toBe('token-1')
  expect(clock.asked).toBe(2)
  clock.now = 99_000
  expect(await token()).toBe('token-1')
  expect(clock.asked).toBe(3)
  clock.now = 100_000
  await expect(token()).rejects.toThrow('no answer')
})

test('a credential that is refused is refused at once, whatever the former token was', async () => {
  const { clock, token } = keeping()
  await token()
  clock.fail = new Error('refused')
  clock.now = 61_000
  await expect(token()).rejects.toThrow('refused')
})
