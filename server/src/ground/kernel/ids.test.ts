import { expect, test } from 'vitest'
import { fixedId, newId } from './ids.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('minted ids are UUIDv7, differ, and sort in the order they were minted', () => {
  const ids = Array.from({ length: 50_000 }, () => newId('test'))
  for (const id of ids) expect(id).toMatch(uuid7)
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
})

test('a fixed id is the same for the same kind and name, and another for any other', () => {
  expect(fixedId('role', 'a')).toBe(fixedId('role', 'a'))
  expect(fixedId('role', 'a')).not.toBe(fixedId('user', 'a'))
  expect(fixedId('role', 'a')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/)
})
