// How fast tokens are issued and checked, beside oidc-provider: `npm run bench -- tokens [issue | validate | verify]`; without a word, all three.
import { localIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { openWorld } from './decide/world.ts'
import { runPart } from './run-part.ts'
import { compareIssuance } from './tokens/issue.ts'
import { startAll } from './tokens/servers.ts'
import { compareValidation } from './tokens/validate.ts'
import { compareVerification } from './tokens/verify.ts'
import { wantedParts } from './wanted-parts.ts'

const parts = { issue: compareIssuance, validate: compareValidation, verify: compareVerification }
const wanted = wantedParts(parts)
const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
try {
  const servers = await startAll(world, issuer)
  try {
    for (const [name, part] of wanted) await runPart(`tokens-${name}`, () => part(world, servers))
  } finally {
    await servers.stop()
  }
} finally {
  await world.stop()
  await issuer.stop()
}
