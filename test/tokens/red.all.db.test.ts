import { describe, expect, test } from 'vitest'
import { faults } from './faults.ts'
import { attacks, trialFixture } from './trial.ts'

const { live, builds } = trialFixture()

const each = Object.entries(faults).flatMap(([name, broken]) =>
  Object.entries(broken).map(([what, changes]) => [name as keyof typeof attacks, what, changes] as const),
)

/** The control of attacks.db.test.ts: the same attacks, against a product with one fault. */
describe('the product with a fault', () => {
  test.for(each)('%s: it is found when %s', async ([name, , changes]) => {
    const url = await builds.serve(changes)
    const found = await attacks[name]({ live, url, lineOf: builds.lineOf })
    // That it fell over is not what was to be found.
    expect(found.filter((each) => !/(?:answered|:) 5\d\d/.test(each))).not.toEqual([])
  })
})
