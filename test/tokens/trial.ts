import { fixture } from '../fixture.ts'
import { noRateLimits, serverFixture } from '../live-server.ts'
import { attacksOnIssuer } from './attacks-on-issuer.ts'
import { attacksOnOperators } from './attacks-on-operators.ts'
import { attacksOnValidator } from './attacks-on-validator.ts'
import { startBuilds } from './builds.ts'

export const attacks = { ...attacksOnValidator, ...attacksOnIssuer, ...attacksOnOperators }

/** A server to attack, and builds of the product with or without a fault beside it. */
export const trialFixture = () => {
  const live = serverFixture({
    policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 5, 'auth.wrong_secret.longest_delay_milliseconds': 20 },
  })
  const builds = fixture(
    () => startBuilds(live),
    (started) => started.stop(),
  )
  return { live, builds }
}
