import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import type { Epoch } from './epoch-queries.ts'
import { type Moment, platformScope, revisionOf, stampOf } from './moment.ts'

const [a = '', b = ''] = [newId('org'), newId('org')].sort()
const momentOf = (...epochs: readonly Epoch[]): Moment => ({ now: '', epochs: new Map(epochs.map((epoch) => [epoch.id, epoch])) })
const epoch = (id: string, value: number, stamp = `stamp-${id}-${value}`): Epoch => ({ id, value, stamp })
const before = momentOf(epoch(platformScope, 4), epoch(a, 7), epoch(b, 9))

test('DE-19 what lies in a tenant holds while neither its epoch nor that of the platform moves', () => {
  expect(stampOf(momentOf(epoch(platformScope, 4), epoch(a, 7), epoch(b, 10)), a)).toBe(stampOf(before, a))
  expect(stampOf(momentOf(epoch(platformScope, 4), epoch(a, 8), epoch(b, 9)), a)).not.toBe(stampOf(before, a))
  expect(stampOf(momentOf(epoch(platformScope, 5), epoch(a, 7), epoch(b, 9)), a)).not.toBe(stampOf(before, a))
})

test('DE-19 what lies in no tenant holds while the epoch of the platform does', () => {
  expect(stampOf(momentOf(epoch(platformScope, 4), epoch(a, 8)), null)).toBe(stampOf(before, null))
  expect(stampOf(momentOf(epoch(platformScope, 5), epoch(a, 7)), null)).not.toBe(stampOf(before, null))
})

test('DE-19 the same figure after a restore is another moment, and the first change of all is one', () => {
  expect(stampOf(momentOf(epoch(platformScope, 4), epoch(a, 7, 'another')), a)).not.toBe(stampOf(before, a))
  expect(stampOf(momentOf(epoch(a, 1)), a)).not.toBe(stampOf(momentOf(), a))
  expect(stampOf(momentOf(epoch(platformScope, 1)), null)).not.toBe(stampOf(momentOf(), null))
})

test('DE-19 a revision names each tenant once, in the order of their ids, after the platform', () => {
  expect(revisionOf(before, [b, a, b])).toBe('4.7.9')
  expect(revisionOf(before, [a, b])).toBe('4.7.9')
  expect(revisionOf(before, [])).toBe('4')
  expect(revisionOf(momentOf(), [a])).toBe('0.0')
})
