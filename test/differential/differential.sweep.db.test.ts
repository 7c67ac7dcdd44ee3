import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { amount, isWhole, seededNumber, sweep } from '../sweep.ts'
import { combinations, exhaustiveBatches } from './exhaustive.ts'
import { described, type Lane, openLane, randomBatches, runBatches } from './run.ts'

const reasons = ['permission_denied', 'membership_missing', 'scope_mismatch', 'policy_constraint_denied', 'role_disabled', 'actor_disabled']
const seed = Number(process.env.WORLDS_SEED ?? seededNumber('worlds'))

let clones: ClonedDatabase[] = []
let lanes: Lane[] = []

beforeAll(async () => {
  const { superuserUrl } = inject('postgres')
  clones = [await cloneDatabase(), await cloneDatabase()]
  lanes = await Promise.all(
    clones.map(({ appUrl }) =>
      openLane({ appUrl, superuserUrl: Object.assign(new URL(superuserUrl), { pathname: new URL(appUrl).pathname }).href }),
    ),
  )
})
afterAll(async () => {
  for (const lane of lanes) await lane.close()
  for (const clone of clones) await clone.drop()
})

test('DE-04 DE-13 the engine and the reference agree about every combination of what the steps ask', { timeout: 900_000 }, async () => {
  const batches = exhaustiveBatches(lanes[0]!.builtins)
  const tally = await runBatches(lanes, sweep('combinations', batches, 4))
  expect(tally.mismatches.length === 0 || described(tally)).toBe(true)
  if (!isWhole) return
  expect(tally.questions).toBe(combinations)
  for (const reason of [...reasons, 'allow']) expect(tally.answers[reason] ?? 0, reason).toBeGreaterThanOrEqual(1000)
})

test('DE-04 DE-10 DE-11 DE-21 DE-22 DE-23 the engine and the reference agree about random worlds', { timeout: 900_000 }, async () => {
  const wanted = Number(process.env.WORLDS ?? amount(2500, 200_000))
  const tally = await runBatches(lanes, randomBatches(seed, wanted, lanes[0]!.builtins))
  console.log(`seed ${seed}: ${tally.worlds} worlds, ${tally.questions} questions`, tally.answers, tally.of_machines)
  expect(tally.mismatches.length === 0 || described(tally)).toBe(true)
  expect(tally.worlds).toBe(wanted)
  // What chance must bring about in many worlds it need not in few.
  if (!isWhole) return
  const share = (reason: string) => (tally.answers[reason] ?? 0) / tally.questions
  for (const reason of reasons) expect(share(reason), reason).toBeGreaterThanOrEqual(0.05)
  expect(share('allow')).toBeGreaterThanOrEqual(0.3)
  expect(share('allow')).toBeLessThanOrEqual(0.6)
  // No role can be an operator's, so none that is disabled.
  for (const reason of [...reasons, 'allow']) {
    expect(tally.of_machines[`service_account ${reason}`] ?? 0, reason).toBeGreaterThanOrEqual(wanted / 1000)
    const ofOperators = tally.of_machines[`shared_runtime_operator ${reason}`] ?? 0
    if (reason === 'role_disabled') expect(ofOperators).toBe(0)
    else expect(ofOperators, reason).toBeGreaterThanOrEqual(wanted / 1000)
  }
})
