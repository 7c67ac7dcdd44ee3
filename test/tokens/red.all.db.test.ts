import { beforeAll, describe, expect, test } from 'vitest'
import { fixture } from '../fixture.ts'
import { noRateLimits, serverFixture } from '../live-server.ts'
import { attacksOnIssuer } from './attacks-on-issuer.ts'
import { attacksOnOperators } from './attacks-on-operators.ts'
import { attacksOnValidator } from './attacks-on-validator.ts'
import { startBuilds } from './builds.ts'
import { faults } from './faults.ts'

const attacks = { ...attacksOnValidator, ...attacksOnIssuer, ...attacksOnOperators }

const live = serverFixture({
  policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 5, 'auth.wrong_secret.longest_delay_milliseconds': 20 },
})
const builds = fixture(
  () => startBuilds(live),
  (started) => started.stop(),
)

describe('the product as it is', () => {
  let url: string
  beforeAll(async () => {
    url = await builds.serve([])
  })

  test.for(Object.entries(attacks))('%s: nothing is found', async ([, attack]) => {
    expect(await attack({ live, url, lineOf: builds.lineOf })).toEqual([])
  })
})

const each = Object.entries(faults).flatMap(([name, broken]) =>
  Object.entries(broken).map(([what, changes]) => [name as keyof typeof attacks, what, changes] as const),
)

describe('the product with a fault', () => {
  test.for(each)('%s: it is found when %s', async ([name, , changes]) => {
    const url = await builds.serve(changes)
    const found = await attacks[name]({ live, url, lineOf: builds.lineOf })
    // That it fell over is not what was to be found.
    expect(found.filter((each) => !/(?:answered|:) 5\d\d/.test(each))).not.toEqual([])
  })
})
