import { describe, expect, test } from 'vitest'
import { fixture } from './fixture.ts'

const order: string[] = []

describe('fixture', () => {
  const first = fixture(
    () => ({ name: 'first', twice: (n: number) => 2 * n }),
    ({ name }) => order.push(`${name} down`),
  )
  const second = fixture(
    async () => ({ name: `after ${first.name}` }),
    ({ name }) => order.push(`${name} down`),
  )
  const early = (() => {
    try {
      return first.name
    } catch (error) {
      return error
    }
  })()

  test('used while the file is collected → an error says where to use it', () => {
    expect(early).toMatchObject({ message: expect.stringContaining('not set up yet') })
  })

  test('used in a test → delegates to the object that its set-up made', () => {
    expect([first.name, first.twice(2), 'twice' in first, Object.keys(first)]).toEqual(['first', 4, true, ['name', 'twice']])
    expect({ ...second }).toEqual({ name: 'after first' })
    expect(() => Object.assign(first, { name: 'another' })).toThrow(TypeError)
  })
})

test('fixture: after the last test → torn down, the later one first', () => {
  expect(order).toEqual(['after first down', 'first down'])
})
