import { asOperator } from './operator-credentials.ts'
import { part, type Recipes, type Stage } from './recipe.ts'

const leaving = (stage: Stage, name = 'left') => ({ name, secret: stage.word(), reason: stage.word() })
const promised = async (stage: Stage) => {
  const { params, owner, person } = await asOperator(stage)
  const left = await stage.done('shared_runtime.credential.deposit', { person: owner, params, body: leaving(stage) })
  const told: unknown = await stage.done('shared_runtime.credential.deliver', { person, params, body: { name: 'left' } })
  return { params, owner, person, credential_id: left.id, wrapping_token: (told as { wrapping_token: string }).wrapping_token }
}

const credentials = 'shared_runtime_credentials c where c.shared_runtime_id = $1'
const deliveries = 'wrapped_deliveries d join shared_runtime_credentials c on c.id = d.subject_id where'

export const runtimeCredentials: Recipes = {
  'shared_runtime.credential.deposit': {
    prepare: async (stage) => {
      const { params, owner } = await promised(stage)
      return { person: owner, params, body: leaving(stage) }
    },
    effect: ({ params: { shared_runtime_id } }) => [
      part('the next', `${credentials} and c.version = 2 and c.state = 'active' and c.envelope is not null`, shared_runtime_id),
      part('end of the first', `${credentials} and c.version = 1 and c.state = 'revoked'`, shared_runtime_id),
      part('end of the delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'revoked'`, shared_runtime_id),
    ],
  },
  'shared_runtime.credential.revoke': {
    prepare: async (stage) => {
      const { params, owner, credential_id } = await promised(stage)
      return { person: owner, params: { ...params, credential_id }, body: { reason: stage.word() } }
    },
    effect: ({ params: { shared_runtime_id } }) => [
      part('end', `${credentials} and c.state = 'revoked' and c.envelope is null`, shared_runtime_id),
      part('end of the delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'revoked'`, shared_runtime_id),
    ],
  },
  'shared_runtime.credential.deliver': {
    prepare: async (stage) => {
      const { params, owner, person } = await asOperator(stage)
      await stage.done('shared_runtime.credential.deposit', { person: owner, params, body: leaving(stage) })
      return { person, params, body: { name: 'left' } }
    },
    effect: ({ params }) => [part('delivery', `${deliveries} c.shared_runtime_id = $1 and d.state = 'waiting'`, params.shared_runtime_id)],
  },
  'delivery.unwrap': {
    prepare: async (stage) => {
      const { person, wrapping_token } = await promised(stage)
      return { person, params: {}, body: { wrapping_token } }
    },
    effect: ({ body: { wrapping_token } }) => {
      const ofToken = `${deliveries} d.token_hash = sha256(convert_to($1, 'UTF8'))`
      return [
        part('opened', `${ofToken} and d.state = 'opened'`, wrapping_token),
        part('delivered', `${ofToken} and c.state = 'delivered'`, wrapping_token),
      ]
    },
  },
}
