import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Wakes } from '#ground/db/listen.ts'
import { nodeWaits } from './node-waits.ts'

/** What tells of tasks, told by the test. */
const teller = () => {
  const listening = new Set<() => void>()
  const wakes: Pick<Wakes, 'next'> = {
    next: (_word, signal) =>
      new Promise((resolve) => {
        const woken = () => {
          listening.delete(woken)
          resolve()
        }
        listening.add(woken)
        signal.addEventListener('abort', woken)
      }),
  }
  return {
    wakes: wakes as Wakes,
    listening,
    say: async () => {
      for (const each of [...listening]) each()
      await sleep(5)
    },
  }
}

/** Looks each time that it is woken, until it is to end. */
const looker = (waitFor: ReturnType<typeof nodeWaits>) => {
  const ending = new AbortController()
  const changed = waitFor('node', ending)
  const seen = { looks: 0, end: () => ending.abort(), is_over: () => ending.signal.aborted }
  void (async () => {
    for (;;) {
      await changed(ending.signal)
      if (ending.signal.aborted) return
      seen.looks += 1
    }
  })()
  return seen
}

test('SG-10 what is said is looked for once, by the newest; when that one is done the next one looks for the rest', async () => {
  const { wakes, listening, say } = teller()
  const waitFor = nodeWaits(wakes)
  const [one, two, three] = [looker(waitFor), looker(waitFor), looker(waitFor)]
  await say()
  expect([one.looks, two.looks, three.looks]).toEqual([0, 0, 1])
  await say()
  expect([one.looks, two.looks, three.looks]).toEqual([0, 0, 2])
  three.end()
  await sleep(5)
  expect([one.looks, two.looks, three.looks]).toEqual([0, 1, 2])
  // One that was not the newest leaves nothing to look for.
  one.end()
  await sleep(5)
  expect(two.looks).toBe(1)
  two.end()
  await sleep(5)
  expect(listening.size).toBe(0)
})

test('SG-10 the fifth ends the oldest', async () => {
  const { wakes } = teller()
  const waitFor = nodeWaits(wakes)
  const all = Array.from({ length: 6 }, () => looker(waitFor))
  expect(all.map(({ is_over }) => is_over())).toEqual([true, true, false, false, false, false])
})

test('SG-10 what is said between two looks is not missed', async () => {
  const { wakes, say } = teller()
  const ending = new AbortController()
  const changed = nodeWaits(wakes)('node', ending)
  await say()
  // It was not listening at that moment.
  await changed(ending.signal)
  let is_woken = false
  void changed(ending.signal).then(() => {
    is_woken = true
  })
  await sleep(5)
  expect(is_woken).toBe(false)
  await say()
  expect(is_woken).toBe(true)
  ending.abort()
})
