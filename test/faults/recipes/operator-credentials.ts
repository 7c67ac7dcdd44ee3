import { bearing, part, type Recipes, type Stage } from './recipe.ts'
import { onARuntime, operatorKeys, runtimes } from './shared-runtimes.ts'

/** A credential of the operator of a runtime, and whoever made it. */
export const anOperator = async (stage: Stage) => {
  const { params, ...asking } = await onARuntime(stage)
  const { shared_runtime_id } = params
  const made: unknown = await stage.done('shared_runtime.operator_credential.create', { ...asking, params })
  const { key_id, client_secret } = made as { key_id: string; client_secret: string }
  return { params, asking, body: { shared_runtime_id, key_id, client_secret, reason: stage.word() } }
}
/** As the operator of a runtime of its own, for which a secret is left. */
export const asOperator = async (stage: Stage) => {
  const { params, asking, body } = await anOperator(stage)
  const issued: unknown = await stage.done('auth.shared_runtime_operator_token.issue', { person: 'alice', params: {}, body })
  return { params, owner: asking.person, person: `${bearing}${(issued as { access_token: string }).access_token}` }
}

export const operatorCredentials: Recipes = {
  'shared_runtime.operator_credential.create': {
    prepare: onARuntime,
    effect: ({ params }) => [part('credential', `${operatorKeys} shared_runtime_id = $1`, params.shared_runtime_id)],
  },
  'shared_runtime.operator_credential.revoke': {
    prepare: async (stage) => {
      const { params, asking, body } = await anOperator(stage)
      return { person: asking.person, params: { ...params, key_id: body.key_id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', `${operatorKeys} id = $1 and revoke_reason = $2`, params.key_id, body.reason),
      part('count', `${runtimes} and cursor_version = 2`, params.shared_runtime_id),
    ],
  },
}
