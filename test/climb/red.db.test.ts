import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LiveServer } from '../live-server.ts'
import { startBroken } from './broken-server.ts'
import { type Mutant, mutants, occurrences } from './mutants.ts'
import { type Finding, runSequence } from './run.ts'
import { openForTrial } from './world.ts'

const most = Number(process.env.GATEHOUSE_CLIMB_SEQUENCES ?? 40)
const moves = 60

let live: LiveServer
beforeAll(async () => {
  live = await openForTrial()
})
afterAll(() => live.stop())

const firstFinding = async (changes: readonly Mutant[], sequences: number): Promise<{ seed: number; found: Finding } | undefined> => {
  const { url, stop } = await startBroken(live, changes)
  try {
    for (let seed = 1; seed <= sequences; seed += 1) {
      const found = await runSequence({ live, url }, seed, moves)
      if (found) return { seed, found }
    }
    return undefined
  } finally {
    await stop()
  }
}

test.for(Object.entries(mutants))('RP-19 RP-29 it is found when %s', { timeout: 600_000 }, async ([name, mutant]) => {
  expect(occurrences(mutant)).toBe(1)
  const first = await firstFinding([mutant], most)
  console.log(name, first?.seed, first?.found.kinds, first?.found.what, first?.found.done.length)
  expect(first?.found.kinds).toContain('allowed')
})
