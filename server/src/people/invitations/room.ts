import { room } from '#ground/kernel/room-door.ts'
import { invitationsSentences } from './invitations-sentences.ts'

export const invitationsRoom = room({
  sees: ['roles', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: ['end-with-membership.ts', 'end-with-role.ts', 'invitation-routes.ts'],
  nouns: [{ type: 'invitation', table: 'invitations', id_param: 'invitation_id' }],
  sentences: invitationsSentences,
})
