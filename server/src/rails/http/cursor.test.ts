import { canonicalJson } from '@gatehouse/contract/canonical-json'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { Secret } from '#ground/kernel/secret.ts'
import { amount, seededNumber } from '../../../../test/sweep.ts'
import { type Cursors, sealedCursors } from './cursor.ts'

const cursors = sealedCursors(new Secret('one key'.padEnd(40, '.')))
const bound = ['organization.list', 'user', newId('user'), { org_id: newId('org') }, {}]
const after = newId('org')

const refuses = (opener: Pick<Cursors, 'open'>, to: unknown, cursor: string): boolean => {
  try {
    opener.open(to, cursor)
    return false
  } catch (error) {
    expect(error).toBeInstanceOf(Problem)
    expect((error as Problem).code).toBe('cursor_invalid')
    return true
  }
}

describe('a cursor', () => {
  test('HO-04 opens where it was sealed, and in another process with the same key', () => {
    const again = sealedCursors(new Secret('one key'.padEnd(40, '.')))
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'grapheme', minLength: 1 }), (to, place) => {
        expect(again.open(to, cursors.seal(to, place))).toBe(place)
      }),
    )
  })

  test('HO-04 shows no id, and never twice the same', () => {
    const sealed = Array.from({ length: 200 }, () => cursors.seal(bound, after))
    expect(new Set(sealed).size).toBe(200)
    const hex = after.replaceAll('-', '')
    for (const cursor of sealed) {
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      const bytes = Buffer.from(cursor, 'base64url')
      for (const spelled of [cursor, bytes.toString('latin1'), bytes.toString('hex')])
        for (const part of [after, hex, after.slice(0, 8), after.slice(-12), 'organization', 'user']) expect(spelled).not.toContain(part)
    }
    // The control: in a cursor that is only encoded, the same search finds the id.
    expect(Buffer.from(Buffer.from(after).toString('base64url'), 'base64url').toString('latin1')).toContain(after.slice(0, 8))
  })

  test('HO-04 is refused if any one bit of it was changed', () => {
    const bytes = Buffer.from(cursors.seal(bound, after), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(refuses(cursors, bound, changed.toString('base64url'))).toBe(true)
    }
  })

  test('HO-04 is refused if any one character of it was changed, cut off or added', () => {
    const cursor = cursors.seal(bound, after)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let at = 0; at < cursor.length; at += 1) {
      expect(refuses(cursors, bound, cursor.slice(0, at))).toBe(true)
      for (const letter of alphabet)
        if (letter !== cursor[at]) expect(refuses(cursors, bound, cursor.slice(0, at) + letter + cursor.slice(at + 1))).toBe(true)
    }
    for (const tail of ['A', 'AA', 'AAAA', '=', '==', '\n', ' ', '.']) expect(refuses(cursors, bound, cursor + tail)).toBe(true)
  })

  test('HO-04 of another key is refused', () => {
    expect(refuses(sealedCursors(new Secret('another key'.padEnd(40, '.'))), bound, cursors.seal(bound, after))).toBe(true)
  })

  test('HO-04 fits one caller, one operation and one query only', () => {
    const [operation, type, id, params, filter] = bound as [string, string, string, object, object]
    const others = [
      ['project.list', type, id, params, filter],
      [operation, 'service_account', id, params, filter],
      [operation, type, newId('user'), params, filter],
      [operation, type, id, { org_id: newId('org') }, filter],
      [operation, type, id, params, { state: 'active' }],
      [operation, type, id, params],
      null,
    ]
    const cursor = cursors.seal(bound, after)
    for (const other of others) expect(refuses(cursors, other, cursor)).toBe(true)
    expect(cursors.open([operation, type, id, { ...params }, {}], cursor)).toBe(after)
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        fc.pre(canonicalJson(one) !== canonicalJson(other))
        expect(refuses(cursors, other, cursors.seal(one, after))).toBe(true)
      }),
    )
  })

  test('HO-04 that is no cursor at all is refused and never thrown over', () => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => refuses(cursors, bound, text)))
  })
})

/** A second opinion on equality, by structure and without spelling anything. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a, b].map((value) => new Map(Object.entries(value))) as [Map<string, unknown>, Map<string, unknown>]
  return left.size === right.size && [...left].every(([name, member]) => right.has(name) && isSame(member, right.get(name)))
}

describe('keys made of several values (C4)', () => {
  // Few atoms, so that pairs come close to each other; texts that look like the spelling itself.
  const atom = fc.constantFrom<unknown>('', 'a', 'b', '"', '","', '\\', 'a","b', '{}', '[]', 'null', 0, 1, -1, 1.5, true, false, null)
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      atom,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '"', 'a":1,"b', ''), tie('value'), { maxKeys: 3 }),
    ),
  }))

  const pairs = (spell: (value: unknown) => string) => {
    let distinct = 0
    fc.assert(
      fc.property(value, value, (a, b) => {
        if (!isSame(a, b)) distinct += 1
        return (spell(a) === spell(b)) === isSame(a, b)
      }),
      { numRuns: amount(50_000, 1_000_000), seed: seededNumber('pairs of keys') },
    )
    return distinct
  }

  test('HO-04 distinct inputs have distinct spellings, equal ones the same, over a million pairs', () => {
    expect(pairs(canonicalJson)).toBeGreaterThan(amount(25_000, 500_000))
  })

  test('a key made by joining would be found out', () => {
    const joined = (given: unknown): string =>
      typeof given === 'object' && given !== null ? Object.values(given).map(joined).join() : `${given}`
    expect(() => pairs(joined)).toThrow()
  })

  test('HO-04 the order in which members were written does not matter', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (given) => {
        expect(canonicalJson(Object.fromEntries(Object.entries(given).reverse()))).toBe(canonicalJson(given))
      }),
    )
  })
})
