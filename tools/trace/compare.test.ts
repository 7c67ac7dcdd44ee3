import { expect, test } from 'vitest'
import { compare } from './compare.ts'

const requirements = [
  { id: 'HO-01', title: 'first' },
  { id: 'HO-02', title: 'second' },
]
const passed = (name: string) => ({ file: 'a.test.ts', name, outcome: 'passed' as const })

test('a passed test proves the requirement it names', () => {
  const { rows, faults } = compare(requirements, ['HO-02'], [passed('HO-01 starts')])
  expect(rows.map(({ id, tests }) => [id, tests])).toEqual([
    ['HO-01', ['a.test.ts: HO-01 starts']],
    ['HO-02', []],
  ])
  expect(faults).toEqual([])
})

test('a skipped or failed test proves nothing', () => {
  for (const outcome of ['skipped', 'failed'] as const) {
    const { faults } = compare(requirements, ['HO-02'], [{ file: 'a.test.ts', name: 'HO-01 starts', outcome }])
    expect(faults).toEqual([expect.stringContaining('HO-01 (first) has no passing test')])
  }
})

test('a proved requirement must leave the open list, and the list it leaves is shorter', () => {
  const { faults, stillOpen } = compare(requirements, ['HO-01', 'HO-02'], [passed('HO-01 starts')])
  expect(faults).toEqual([expect.stringContaining('HO-01 (first) is proved now')])
  expect(stillOpen).toEqual(['HO-02'])
})

test('the new open list never gains an id', () => {
  expect(compare(requirements, ['HO-02'], []).stillOpen).toEqual(['HO-02'])
})

test('an unknown id is a fault, in a title and on the open list', () => {
  const { faults } = compare(requirements, ['HO-01', 'HO-02', 'HO-77'], [passed('ZZ-99 flies')])
  expect(faults).toEqual([expect.stringContaining('ZZ-99 is named by a test'), expect.stringContaining('HO-77 is on the open list')])
})

test('an id inside a longer word is not an id', () => {
  expect(compare(requirements, ['HO-01', 'HO-02'], [passed('reads UTF-16 and XHO-01 and HO-012')]).faults).toEqual([])
})
