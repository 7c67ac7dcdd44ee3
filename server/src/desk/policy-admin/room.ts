import { room } from '#ground/kernel/room-door.ts'
import { policyAdminSentences } from './policy-admin-sentences.ts'

export const policyAdminRoom = room({
  sees: ['tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: ['mirror-definitions.ts', 'policy-admin-routes.ts', 'policy-subscribers.ts', 'set-policy-value-by-order.ts'],
  nouns: [{ type: 'policy_constraint', table: 'policy_constraints', id_param: 'constraint_id' }],
  sentences: policyAdminSentences,
})
