import { room } from '#ground/kernel/room-door.ts'
import { people } from './person-class.ts'
import { principalsSentences } from './principals-sentences.ts'

export const principalsRoom = room({
  sees: ['tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: [
    'disable-user.ts',
    'identify-person.ts',
    'oidc/human-tokens.ts',
    'oidc/issuer-settings.ts',
    'oidc/verified-before.ts',
    'principal-routes.ts',
    'user-queries.ts',
  ],
  actors: [people],
  nouns: [{ type: 'user', table: 'users', id_param: 'user_id' }],
  sentences: principalsSentences,
})
