import { expect, test } from 'vitest'
import { compare, type Known } from './compare.ts'
import type { TestResult } from './proofs.ts'

const known = (changed: Partial<Known> = {}): Known => ({
  requirements: [
    { id: 'HO-01', title: 'first' },
    { id: 'HO-02', title: 'second' },
  ],
  open: [],
  elsewhere: [],
  missing: [],
  ...changed,
})
const passed = (name: string): TestResult => ({ file: 'a.test.ts', name, outcome: 'passed' })

test('HO-02 trace: a passed test → proves the requirement that it names', () => {
  const { rows, faults } = compare({ test: [passed('HO-01 starts')] }, known({ open: ['HO-02'] }))
  expect(rows.map(({ id, tests }) => [id, tests])).toEqual([
    ['HO-01', ['a.test.ts: HO-01 starts']],
    ['HO-02', []],
  ])
  expect(faults).toEqual([])
})

test('HO-02 trace: a skipped or failed test → proves nothing', () => {
  for (const outcome of ['skipped', 'failed'] as const) {
    const { faults } = compare({ test: [{ file: 'a.test.ts', name: 'HO-01 starts', outcome }] }, known({ open: ['HO-02'] }))
    expect(faults).toEqual([expect.stringContaining('HO-01 (first) has no passing test')])
  }
})

test('HO-02 trace: a proved requirement on the open list → a fault, and the list gets shorter', () => {
  const { faults, stillOpen } = compare({ test: [passed('HO-01 starts')] }, known({ open: ['HO-01', 'HO-02'] }))
  expect(faults).toEqual([expect.stringContaining('HO-01 (first) is proved now')])
  expect(stillOpen).toEqual(['HO-02'])
})

test('HO-02 trace: nothing proved → the open list gains no id', () => {
  expect(compare({ test: [] }, known({ open: ['HO-02'] })).stillOpen).toEqual(['HO-02'])
})

test('HO-02 trace: an unknown id in a title or on a list → a fault', () => {
  const elsewhere = [{ id: 'HO-78', command: 'test:all' as const, part: null }]
  const { faults } = compare({ test: [passed('ZZ-99 flies')] }, known({ open: ['HO-01', 'HO-02', 'HO-77'], elsewhere }))
  expect(faults).toEqual([
    expect.stringContaining('ZZ-99 is named by a test'),
    expect.stringContaining('HO-77 is on the open list'),
    expect.stringContaining('HO-78 is on the list of those proved elsewhere'),
  ])
})

test('HO-02 trace: an id inside a longer word → no id', () => {
  const { faults } = compare({ test: [passed('reads UTF-16 and XHO-01 and HO-012')] }, known({ open: ['HO-01', 'HO-02'] }))
  expect(faults).toEqual([])
})

const inAll = { id: 'HO-02', command: 'test:all' as const, part: null }

test('HO-02 trace: a requirement listed as proved by test:all → excused in npm test, not in test:all', () => {
  const quick = [passed('HO-01 starts')]
  expect(compare({ test: quick }, known({ elsewhere: [inAll] })).faults).toEqual([])
  expect(compare({ test: quick }, known()).faults).toEqual([expect.stringContaining('HO-02 (second) has no passing test')])
  const { faults } = compare({ test: quick, 'test:all': [] }, known({ elsewhere: [inAll] }))
  expect(faults).toContainEqual(expect.stringContaining('HO-02 (second) has no passing test'))
})

test('HO-02 trace: both tiers ran on a whole machine → the list must say where each requirement is proved', () => {
  const runs = { test: [passed('HO-01 starts (needs sshd)')], 'test:all': [passed('HO-02 sweeps')] }
  const { elsewhere, faults } = compare(runs, known())
  expect(elsewhere).toEqual([{ id: 'HO-01', command: 'test', part: 'sshd' }, inAll])
  expect(faults).toEqual([expect.stringContaining('proved-elsewhere.txt is out of date')])
  expect(compare(runs, known({ elsewhere })).faults).toEqual([])
  expect(compare(runs, known({ missing: ['chromium'] })).faults).toEqual([])
})

test('HO-02 trace: a part that is missing → excuses what only tests with that part prove', () => {
  const elsewhere = [{ id: 'HO-01', command: 'test' as const, part: 'sshd' }]
  const runs = { test: [passed('HO-02 counts')] }
  expect(compare(runs, known({ elsewhere, missing: ['sshd'] })).faults).toEqual([])
  expect(compare(runs, known({ elsewhere })).faults).toEqual([expect.stringContaining('HO-01 (first) has no passing test')])
})
