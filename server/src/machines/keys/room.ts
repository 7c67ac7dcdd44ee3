import { room } from '#ground/kernel/room-door.ts'
import { signingKeyEnvelopes } from './envelopes.ts'

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
})
