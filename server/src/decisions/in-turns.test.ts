import { afterEach, expect, test, vi } from 'vitest'
import { inTurns } from './in-turns.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Making one takes so long. */
const taking = (each_ms: number) => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  return (item: number) => {
    now += each_ms
    return item * 2
  }
}
const items = (count: number) => Array.from({ length: count }, (_, n) => n)

test('L4 all are made in their order, and others are heard in between exactly where it takes long', async () => {
  for (const [each_ms, isHeard] of [
    [0.01, false],
    [6, true],
  ] as const) {
    let heard = false
    setImmediate(() => {
      heard = true
    })
    const made = await inTurns(items(20), 1000, taking(each_ms))
    expect([made, heard]).toEqual([items(20).map((item) => item * 2), isHeard])
    vi.restoreAllMocks()
    await new Promise((resolve) => setImmediate(resolve))
  }
})

test('DE-19 what takes longer than a second in all is refused, and nothing of it is told', async () => {
  await expect(inTurns(items(100), 1000, taking(9))).resolves.toHaveLength(100)
  await expect(inTurns(items(100), 1000, taking(11))).rejects.toMatchObject({ code: 'dependency_unavailable' })
})

test('L4 the last one is waited for by nobody', async () => {
  await expect(inTurns([1], 1000, taking(5000))).resolves.toEqual([2])
  await expect(inTurns([], 1000, taking(1))).resolves.toEqual([])
})
