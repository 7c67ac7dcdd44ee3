import { room } from '#ground/kernel/room-door.ts'

export const authzRoom = room({
  sees: ['policies', 'work', 'epochs', 'db', 'kernel'],
  shows: [
    'actions.ts',
    'actor-class.ts',
    'attributes.ts',
    'authorize.ts',
    'bound-roles.ts',
    'carried-keys.ts',
    'catalogue.ts',
    'decide.ts',
    'facts.ts',
    'kind.ts',
    'override-limits.ts',
    'platform-queries.ts',
    'read-standings.ts',
    'standing-queries.ts',
    'standing.ts',
    'superadmins.ts',
  ],
})
