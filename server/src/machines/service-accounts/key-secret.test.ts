import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { hashOf, isSecretOf, isSpelledAsSecret, newSecret } from './key-secret.ts'

describe('the secret of a key', () => {
  it('TI-11 is prefixed for scanners, holds 256 bits of chance and ends in a checksum', () => {
    const secrets = Array.from({ length: 200 }, () => newSecret().reveal())
    expect(new Set(secrets).size).toBe(200)
    for (const secret of secrets) {
      expect(secret).toMatch(/^ghsa_[A-Za-z0-9_-]{49}$/)
      expect(Buffer.from(secret.slice(5, 48), 'base64url')).toHaveLength(32)
      expect(isSpelledAsSecret(secret)).toBe(true)
    }
    expect(`${newSecret()}`).toBe('[secret]')
  })

  it('TI-11 is told from a typing error without anybody being asked', () => {
    const secret = newSecret().reveal()
    const other = (at: number) => `${secret.slice(0, at)}${secret[at] === 'A' ? 'B' : 'A'}${secret.slice(at + 1)}`
    for (let at = 0; at < secret.length; at += 1) expect(isSpelledAsSecret(other(at)), `changed at ${at}`).toBe(false)
    for (const wrong of ['', 'ghsa_', secret.slice(0, -1), `${secret}A`, ` ${secret}`, `${secret}\n`])
      expect(isSpelledAsSecret(wrong)).toBe(false)
  })

  it('TI-11 is kept as a salted hash, never twice the same, and opens only with itself', () => {
    const secret = newSecret()
    const [one, another] = [hashOf(secret), hashOf(secret)]
    expect(one.salt).toHaveLength(16)
    expect(one.secret_hash.equals(another.secret_hash)).toBe(false)
    expect(one.secret_hash.equals(createHash('sha256').update(one.salt).update(secret.reveal()).digest())).toBe(true)
    expect(isSecretOf(one, secret.reveal())).toBe(true)
    expect(isSecretOf(another, secret.reveal())).toBe(true)
    for (const wrong of ['', newSecret().reveal(), secret.reveal().slice(0, -1), `${secret.reveal()} `])
      expect(isSecretOf(one, wrong)).toBe(false)
  })

  it('TI-11 an unknown key opens with nothing, not even where its stand-in would fit', () => {
    expect(isSecretOf(undefined, newSecret().reveal())).toBe(false)
    expect(isSecretOf(undefined, '')).toBe(false)
  })

  // T14: the work is the same by the way it is written, which a clock could only guess.
  it('TI-11 an unknown key costs what a wrong secret costs: nothing is answered before the digest is compared', () => {
    const source = readFileSync(new URL('key-secret.ts', import.meta.url), 'utf8')
    const comparing = (text: string) => /export const isSecretOf = [^{]*\{([\s\S]*?)\n\}/.exec(text)![1]!.trim().split('\n')
    const isConstantWork = (text: string) => {
      const lines = comparing(text).map((line) => line.trim())
      const compared = lines.findIndex((line) => /timingSafeEqual\(digest\(/.test(line))
      return (
        compared >= 0 &&
        !lines.slice(0, compared).some((line) => /return|throw|if \(|&&|\|\|/.test(line)) &&
        lines.filter((line) => line.startsWith('return')).length === 1
      )
    }
    expect(isConstantWork(source)).toBe(true)
    // The control: an early return for an unknown key, and a plain comparison. A text that is not there would break nothing and be green.
    const broken = (text: string, by: string) => {
      expect(source.split(text)).toHaveLength(2)
      return source.replace(text, by)
    }
    const begin = 'const [salt, secret_hash] ='
    expect(isConstantWork(broken(begin, `if (!kept) return false\n  ${begin}`))).toBe(false)
    expect(isConstantWork(broken('timingSafeEqual(digest(salt, secret), secret_hash)', 'digest(salt, secret).equals(secret_hash)'))).toBe(
      false,
    )
  })
})
