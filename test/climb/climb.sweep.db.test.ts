import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LiveServer } from '../live-server.ts'
import { amount, isWhole, seededNumber } from '../sweep.ts'
import { rules } from './model.ts'
import { type Finding, runSequence, type Tally } from './run.ts'
import { openForTrial } from './world.ts'

const sequences = Number(process.env.GATEHOUSE_CLIMB_SEQUENCES ?? amount(4, 40))
const moves = Number(process.env.GATEHOUSE_CLIMB_MOVES ?? 60)
const firstSeed = Number(process.env.GATEHOUSE_CLIMB_SEED ?? (isWhole ? 1 : (seededNumber('climb') % 100_000) + 1))

let live: LiveServer
beforeAll(async () => {
  live = await openForTrial()
})
afterAll(() => live.stop())

test('RP-19 RP-29 no sequence of calls gives anybody more than the rules allow', { timeout: 600_000 + sequences * 10_000 }, async () => {
  const tally: Tally = new Map()
  const findings: Finding[] = []
  for (let seed = firstSeed; seed < firstSeed + sequences; seed += 1) {
    const found = await runSequence({ live, url: live.url }, seed, moves, tally)
    if (found) findings.push(found)
  }
  expect(findings).toEqual([])
  // A few sequences need not meet everything; so many must, or they prove little.
  if (sequences * moves < 2000) return
  expect(rules.filter((rule) => !tally.has(rule))).toEqual([])
  expect(
    ['bind', 'accept', 'add_member', 'upgrade', 'appoint', 'found_project', 'enable', 'bind_account', 'make_key'].filter(
      (kind) => !tally.has(kind),
    ),
  ).toEqual([])
})
