import { expect, test } from 'vitest'
import { byName } from './by-name.ts'
import { withoutRecipe } from './recipes.ts'
import { withoutStep } from './unjudged.ts'

test('every operation that changes something has a recipe for the campaign', () => {
  expect(withoutRecipe()).toEqual([])
})

test('every recorded change can be done again on paper', () => {
  expect(withoutStep()).toEqual([])
})

test('no two rooms bring the same', () => {
  expect(byName([{ a: 1 }, { b: 2 }])).toEqual({ a: 1, b: 2 })
  expect(() => byName([{ a: 1 }, { b: 2, a: 3 }])).toThrow('brought by two rooms: a')
})
