import { nextKey } from './next-key.ts'
import { part, type Recipe, type Recipes } from './recipe.ts'

/** Of those that tokens are signed with, or of those that tasks are. */
const livesOf = (table: 'signing_keys' | 'task_signers', noun: 'signing_key' | 'node.signer') => {
  const ending = (verb: 'retire' | 'revoke', state: string): Recipe => ({
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => ({ person: 'ada', params: { kid: await nextKey(stage, noun) }, body: { reason: stage.word() } }),
    effect: ({ params, body }) => [
      part(verb, `${table} where kid = $1 and state = $2 and end_reason = $3`, params.kid, state, body.reason),
    ],
  })
  const rotating: Recipe = {
    lock: 'platform chain',
    is_alone: true,
    prepare: async (stage) => {
      await nextKey(stage, noun)
      return { person: 'ada', params: {}, body: { reason: stage.word() } }
    },
    // Which key it will be is not known before.
    effect: ({ body }) => [
      part(
        'active',
        `${table} k join audit_logs a on a.resource_id = k.kid and a.action = '${noun}.rotate' where a.metadata ->> 'reason' = $1 and k.activated_at is not null`,
        body.reason,
      ),
    ],
  }
  return { ending, rotating }
}

const ofTokens = livesOf('signing_keys', 'signing_key')
export const keys: Recipes = {
  'signing_key.retire': ofTokens.ending('retire', 'retired'),
  'signing_key.revoke': ofTokens.ending('revoke', 'revoked'),
  'signing_key.rotate': ofTokens.rotating,
}

const ofTasks = livesOf('task_signers', 'node.signer')
export const taskSigners: Recipes = {
  'node.signer.revoke': ofTasks.ending('revoke', 'revoked'),
  'node.signer.rotate': ofTasks.rotating,
}
