import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LiveServer } from '../live-server.ts'
import { startBroken } from './broken-server.ts'
import { assignersUpgrade, type Mutant, mutants, occurrences, upgradeHasNoCeiling } from './mutants.ts'
import { type Finding, isClimb, runSequence } from './run.ts'
import { openForTrial, type Tried } from './world.ts'

const most = 40
const moves = 60

let live: LiveServer
beforeAll(async () => {
  live = await openForTrial()
})
afterAll(() => live.stop())

/** The first finding that counts, of so many sequences on a server that was changed. */
const findingOn = async (
  changes: readonly Mutant[],
  sequences: number,
  counts: (finding: Finding) => boolean,
  more: Pick<Tried, 'upgrades_by'> = {},
): Promise<Finding | undefined> => {
  for (const change of changes) expect(occurrences(change)).toBe(1)
  const { url, stop } = await startBroken(live, changes)
  try {
    for (let seed = 1; seed <= sequences; seed += 1) {
      const found = await runSequence({ live, url, ...more }, seed, moves)
      if (found && counts(found)) return found
    }
    return undefined
  } finally {
    await stop()
  }
}

test.for(Object.entries(mutants))('RP-19 RP-29 it is found when %s', { timeout: 600_000 }, async ([, mutant]) => {
  expect(await findingOn([mutant], most, isClimb)).toBeDefined()
})

test('RP-18 RP-19 an upgrade is held to the ceiling of whoever may upgrade, and it is found when it is not', {
  timeout: 600_000,
}, async () => {
  const byAssigners = { upgrades_by: 'assign' } as const
  expect(await findingOn(assignersUpgrade, 4, () => true, byAssigners)).toBeUndefined()
  expect(await findingOn([...assignersUpgrade, upgradeHasNoCeiling], most, isClimb, byAssigners)).toBeDefined()
})
