import { expect, test } from 'vitest'
import { processorMs } from '../cpu-time.ts'

const waited = new Int32Array(new SharedArrayBuffer(4))
const until = (isDone: () => boolean) => {
  while (!isDone());
}

test('processorMs: a thread that waits → counts next to nothing; one that computes → counts it', () => {
  expect(processorMs(() => Atomics.wait(waited, 0, 0, 300))).toBeLessThan(150)
  const began = process.threadCpuUsage()
  expect(processorMs(() => until(() => process.threadCpuUsage(began).user > 100_000))).toBeGreaterThanOrEqual(90)
})
