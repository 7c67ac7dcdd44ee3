import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import type { Epoch } from './epoch-queries.ts'
import { isStillSo, type Moment, momentOf, platformScope, revisionOf, stampOf } from './moment.ts'

const [a = '', b = ''] = [newId('org'), newId('org')].sort()
const asked = [platformScope, a, b]
const epoch = (id: string, value: number, stamp = `stamp-${id}-${value}`): Epoch => ({ id, value, stamp })
const momentWith = (...epochs: readonly Epoch[]): Moment => momentOf('', asked, epochs)
const before = momentWith(epoch(platformScope, 4), epoch(a, 7), epoch(b, 9))
const holds = (then: Moment, now: Moment, tenant_id: string | null) => isStillSo(stampOf(then, tenant_id), now, tenant_id)

test('DE-19 what lies in a tenant holds while neither its epoch nor that of the platform moves', () => {
  expect(holds(before, momentWith(epoch(platformScope, 4), epoch(a, 7), epoch(b, 10)), a)).toBe(true)
  expect(holds(before, momentWith(epoch(platformScope, 4), epoch(a, 8), epoch(b, 9)), a)).toBe(false)
  expect(holds(before, momentWith(epoch(platformScope, 5), epoch(a, 7), epoch(b, 9)), a)).toBe(false)
})

test('DE-19 what lies in no tenant holds while the epoch of the platform does', () => {
  expect(holds(before, momentWith(epoch(platformScope, 4), epoch(a, 8)), null)).toBe(true)
  expect(holds(before, momentWith(epoch(platformScope, 5), epoch(a, 7)), null)).toBe(false)
})

test('DE-19 the same figure after a restore is another moment, and the first change of all is one', () => {
  expect(holds(before, momentWith(epoch(platformScope, 4), epoch(a, 7, 'another')), a)).toBe(false)
  expect(holds(momentWith(), momentWith(), a)).toBe(true)
  expect(holds(momentWith(), momentWith(epoch(a, 1)), a)).toBe(false)
  expect(holds(momentWith(), momentWith(epoch(platformScope, 1)), null)).toBe(false)
})

test('DE-19 a moment proves nothing of what it was not asked about', () => {
  expect(holds(momentWith(), momentOf('', [platformScope], []), a)).toBe(false)
  expect(isStillSo(undefined, momentOf('', [platformScope], []), a)).toBe(false)
  expect(() => stampOf(momentOf('', [platformScope], []), a)).toThrow('not asked')
})

test('DE-19 a revision names each tenant once, in the order of their ids, after the platform', () => {
  expect(revisionOf(before, [b, a, b])).toBe('4.7.9')
  expect(revisionOf(before, [a, b])).toBe('4.7.9')
  expect(revisionOf(before, [])).toBe('4')
  expect(revisionOf(momentWith(), [a])).toBe('0.0')
})
