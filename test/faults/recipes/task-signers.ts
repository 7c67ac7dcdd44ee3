import { nextKey } from './next-key.ts'
import { part, type Recipes } from './recipe.ts'

export const taskSigners: Recipes = {
  'node.signer.rotate': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => {
      await nextKey(stage, 'node.signer')
      return { person: 'ada', params: {}, body: { reason: stage.word() } }
    },
    // Which version it will be is not known before.
    effect: ({ body }) => [
      part(
        'active',
        `task_signers s join audit_logs a on a.resource_id = s.kid and a.action = 'node.signer.rotate' where a.metadata ->> 'reason' = $1 and s.activated_at is not null`,
        body.reason,
      ),
    ],
  },
  'node.signer.revoke': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => ({ person: 'ada', params: { kid: await nextKey(stage, 'node.signer') }, body: { reason: stage.word() } }),
    effect: ({ params, body }) => [
      part('revoke', `task_signers where kid = $1 and state = 'revoked' and end_reason = $2`, params.kid, body.reason),
    ],
  },
}
