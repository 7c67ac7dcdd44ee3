import { Histogram, Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { bucketed } from './bucketed.ts'

test('tells what the library would tell', async () => {
  const described = { name: 'taken_seconds', help: 'How long.', bounds: [0.5, 1, 2] }
  const [ours, theirs] = [new Registry(), new Registry()]
  const note = bucketed(ours, { ...described, label: 'operation' })
  const library = new Histogram({ ...described, labelNames: ['operation'], buckets: [...described.bounds], registers: [theirs] })
  for (const [operation, seconds] of [
    ['a', 0.25],
    ['b', 0.5],
    ['a', 0.75],
    ['a', 2],
    ['b', 64],
    ['a', 0],
  ] as const) {
    note(operation, seconds)
    library.observe({ operation }, seconds)
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
  expect(await ours.metrics()).toContain('taken_seconds_bucket{le="+Inf",operation="b"} 2')
})
