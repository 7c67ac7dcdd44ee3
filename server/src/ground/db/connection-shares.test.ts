import { expect, test } from 'vitest'
import { connectionSharesOf } from './connection-shares.ts'

test('HO-11 connections: a pool of ten → as many as ever', () => {
  expect(connectionSharesOf(10)).toEqual({ lent: 2, held_up: 2, issuing: { together: 4, apart: 3, held_up: 2 } })
})

test.for([5, 8, 10, 20, 50])(
  'HO-11 connections: a pool of %i, and as many wait for held locks as may → half of it is left',
  (connections) => {
    const { held_up, issuing, lent } = connectionSharesOf(connections)
    expect(held_up + issuing.held_up).toBeLessThanOrEqual(connections / 2)
    expect(lent).toBeLessThan(connections / 2)
  },
)

test('HO-11 connections: a larger pool → every share grows; the smallest pool → none is nothing', () => {
  const [small, large] = [connectionSharesOf(10), connectionSharesOf(40)]
  expect([large.lent, large.held_up, ...Object.values(large.issuing)]).toEqual(
    [small.lent, small.held_up, ...Object.values(small.issuing)].map((share) => share * 4),
  )
  const least = connectionSharesOf(1)
  expect([least.lent, least.held_up, ...Object.values(least.issuing)]).toEqual([1, 1, 1, 1, 1])
})
