import { nextKey } from './next-key.ts'
import { part, type Recipe, type Recipes } from './recipe.ts'

const onKeys = (verb: 'retire' | 'revoke', state: string): Recipe => ({
  lock: 'platform chain',
  is_alone: true,
  prepare: async (stage) => ({ person: 'ada', params: { kid: await nextKey(stage, 'signing_key') }, body: { reason: stage.word() } }),
  effect: ({ params, body }) => [
    part(verb, 'signing_keys where kid = $1 and state = $2 and end_reason = $3', params.kid, state, body.reason),
  ],
})

export const keys: Recipes = {
  'signing_key.retire': onKeys('retire', 'retired'),
  'signing_key.revoke': onKeys('revoke', 'revoked'),
  'signing_key.rotate': {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => {
      await nextKey(stage, 'signing_key')
      return { person: 'ada', params: {}, body: { reason: stage.word() } }
    },
    // Which key it will be is not known before.
    effect: ({ body }) => [
      part(
        'active',
        `signing_keys k join audit_logs a on a.resource_id = k.kid and a.action = 'signing_key.rotate' where a.metadata ->> 'reason' = $1 and k.activated_at is not null`,
        body.reason,
      ),
    ],
  },
}
