import { expect, test } from 'vitest'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import { hashOfToken, isSpelledAsToken, newWrappingToken } from './wrapping-token.ts'

test('MI-11 a wrapping token is known by its prefix and its checksum, and no two are alike', () => {
  const [one, other] = [newWrappingToken(), newWrappingToken()]
  const text = one.reveal()
  expect(text).toMatch(/^ghwd_[A-Za-z0-9_-]{49}$/)
  expect(text).not.toBe(other.reveal())
  expect(isSpelledAsToken(text)).toBe(true)
  const flipped = (at: number) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  for (let at = 0; at < text.length; at += 1) expect(isSpelledAsToken(flipped(at))).toBe(false)
  for (const bad of ['', 'ghwd_', text.slice(1), `${text}A`, ` ${text}`, text.replace('ghwd', 'ghsa')])
    expect(isSpelledAsToken(bad)).toBe(false)
})

test('MI-11 what is kept of a token is a hash, and a token that strays into a text is found there', () => {
  const token = newWrappingToken()
  expect(hashOfToken(token)).toHaveLength(32)
  expect(hashOfToken(token)).toEqual(hashOfToken(token))
  expect(hashOfToken(token)).not.toEqual(hashOfToken(newWrappingToken()))
  expect(holdsSecret(`it was ${token.reveal()}, I think`)).toBe(true)
  expect(holdsSecret(token.reveal().slice(0, -6))).toBe(true)
})
