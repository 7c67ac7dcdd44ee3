import { room } from '#ground/kernel/room-door.ts'

export const oauthRoom = room({
  sees: ['tokens', 'service-accounts', 'keys', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: ['holder.ts', 'oauth-routes.ts', 'used-proofs.ts'],
})
