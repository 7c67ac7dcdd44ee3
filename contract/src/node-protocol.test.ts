import { expect, test } from 'vitest'
import { nodeProtocolOf } from './node-protocol.ts'

test('SG-24 versions of the nodes’ protocol: what the other side says → what both speak, or nothing', () => {
  expect([undefined, '1', '2', '3', '9999'].map(nodeProtocolOf)).toEqual([1, 1, 2, 2, 2])
  expect(['0', '-1', '2.0', 'two', '', '02', '10000'].map(nodeProtocolOf)).toEqual(Array(7).fill(undefined))
  expect(nodeProtocolOf(['2', '2'])).toBeUndefined()
})
