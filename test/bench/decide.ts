// How fast decisions are, beside what others use for them: `npm run bench -- decide [engines | http | size]`; without a word, all three.
import { localIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { compareEngines } from './decide/engines.ts'
import { compareHttp } from './decide/http.ts'
import { installPeers } from './decide/peers.ts'
import { compareSizes } from './decide/size.ts'
import { openWorld } from './decide/world.ts'
import { runPart } from './run-part.ts'
import { wantedParts } from './wanted-parts.ts'

const parts = { engines: compareEngines, http: compareHttp, size: compareSizes }
const wanted = wantedParts(parts)
await installPeers()
for (const [name, part] of wanted) {
  // A world of its own for each part: it can grow and not shrink.
  const issuer = await localIssuer()
  const world = await openWorld(issuer.issuer)
  try {
    await runPart(`decide-${name}`, () => part(world, issuer))
  } finally {
    await world.stop()
    await issuer.stop()
  }
}
