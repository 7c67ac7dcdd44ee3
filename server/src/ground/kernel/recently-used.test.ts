import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recentlyUsed } from './recently-used.ts'

const key = fc.constantFrom(...'abcdefgh')
const step = fc.record({ key, value: fc.option(fc.nat(), { nil: undefined }) })

test('HO-04 what is remembered is what was said last, and no more of it than fits', () => {
  fc.assert(
    fc.property(fc.nat(6), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const memory = recentlyUsed<number>(most)
      const said = new Map<string, number>()
      for (const { key, value } of steps) {
        if (value === undefined) expect([undefined, said.get(key)]).toContain(memory.get(key))
        else {
          memory.set(key, value)
          said.set(key, value)
        }
      }
      const left = [...'abcdefgh'].filter((each) => memory.get(each) !== undefined)
      expect(left.length).toBeLessThanOrEqual(most + 1)
    }),
  )
})

test('HO-04 what was used since half of it was filled is not forgotten', () => {
  const memory = recentlyUsed<number>(4)
  memory.set('kept', 0)
  for (let time = 1; time <= 100; time += 1) {
    memory.set(`other ${time}`, time)
    expect(memory.get('kept')).toBe(0)
  }
  expect(memory.get('other 1')).toBeUndefined()
})

test('HO-04 without room nothing is remembered', () => {
  const memory = recentlyUsed<number>(0)
  memory.set('a', 1)
  expect(memory.get('a')).toBeUndefined()
})
