import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LiveServer } from '../live-server.ts'
import { startBroken } from './broken-server.ts'
import { assignersUpgrade, type Mutant, mutants, occurrences, upgradeHasNoCeiling } from './mutants.ts'
import { type Finding, runSequence } from './run.ts'
import { openForTrial, type Tried } from './world.ts'

const most = Number(process.env.GATEHOUSE_CLIMB_SEQUENCES ?? 40)
const moves = 60

let live: LiveServer
beforeAll(async () => {
  live = await openForTrial()
})
afterAll(() => live.stop())

const firstFinding = async (
  changes: readonly Mutant[],
  sequences: number,
  more: Pick<Tried, 'upgrades_by'> = {},
): Promise<{ seed: number; found: Finding } | undefined> => {
  for (const change of changes) expect(occurrences(change)).toBe(1)
  const { url, stop } = await startBroken(live, changes)
  try {
    for (let seed = 1; seed <= sequences; seed += 1) {
      const found = await runSequence({ live, url, ...more }, seed, moves)
      if (found?.kinds.some((kind) => kind === 'climb' || kind === 'allowed') || (found && more.upgrades_by)) return { seed, found }
    }
    return undefined
  } finally {
    await stop()
  }
}

test.for(Object.entries(mutants))('RP-19 RP-29 it is found when %s', { timeout: 600_000 }, async ([name, mutant]) => {
  const first = await firstFinding([mutant], most)
  console.log(name, first?.seed, first?.found.kinds, first?.found.what, first?.found.done.length)
  expect(first).toBeDefined()
})

test('RP-18 RP-19 an upgrade is held to the ceiling of whoever may upgrade, and it is found when it is not', {
  timeout: 600_000,
}, async () => {
  const byAssigners = { upgrades_by: 'assign' } as const
  expect(await firstFinding(assignersUpgrade, 5, byAssigners)).toBeUndefined()
  const first = await firstFinding([...assignersUpgrade, upgradeHasNoCeiling], most, byAssigners)
  console.log('upgrade', first?.seed, first?.found.kinds, first?.found.what)
  expect(first?.found.kinds).toContain('climb')
})
