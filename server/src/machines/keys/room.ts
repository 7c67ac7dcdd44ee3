import { room } from '#ground/kernel/room-door.ts'
import { signingKeyEnvelopes } from './envelopes.ts'
import { keysSentences } from './keys-sentences.ts'
import type { Tended } from './tend-keys.ts'

export const keysRoom = room({
  sees: ['http', 'authz', 'policies', 'audit', 'work', 'epochs', 'custody', 'db', 'kernel'],
  shows: [
    'envelopes.ts',
    'es256.ts',
    'key-set.ts',
    'public-key.ts',
    'public-keys.ts',
    'signer.ts',
    'signing-key-queries.ts',
    'signing-key-routes.ts',
    'tend-keys.ts',
    'transit.ts',
  ],
  sealed: [signingKeyEnvelopes],
  jobs: [
    {
      name: 'tend-signing-keys',
      doing: 'tending the signing keys',
      every_seconds: 60,
      // Where a transit engine is away nothing can be made; what there is still verifies.
      at_start: true,
      run: async ({
        tendKeys,
        onKeysTended,
      }: {
        readonly tendKeys: () => Promise<Tended>
        readonly onKeysTended: (tended: Tended) => void
      }) => onKeysTended(await tendKeys()),
    },
  ],
  sentences: keysSentences,
})
