import { inProject, newProject } from './places.ts'
import { type Asking, part, type Recipes, type Stage } from './recipe.ts'

/** An account in a project of one's own, and a key of it; whoever owns the project has the whole tier to give. */
const anAccount = async (stage: Stage) => {
  const there = inProject((await newProject(stage)).id)
  const slug = stage.word()
  const { id } = await stage.done('service_account.create', { ...there, body: { name: slug, slug, reason: stage.word() } })
  return { ...there, params: { ...there.params, service_account_id: id } }
}
const aKey = async (stage: Stage) => {
  const there = await anAccount(stage)
  const made: unknown = await stage.done('service_account.key.create', { ...there, body: { reason: stage.word() } })
  return { ...there, params: { ...there.params, key_id: (made as { key_id: string }).key_id } }
}
/** What it takes to ask for a token. */
export const aCredential = async (stage: Stage) => {
  const there = await anAccount(stage)
  const made: unknown = await stage.done('service_account.key.create', { ...there, body: { reason: stage.word() } })
  const { key_id, client_secret } = made as { key_id: string; client_secret: string }
  return { service_account_id: there.params.service_account_id, key_id, client_secret }
}
const accountIs = (state: string) => (asking: Asking) => [
  part('state', 'service_accounts where id = $1 and state = $2', asking.params.service_account_id, state),
]

export const serviceAccounts: Recipes = {
  'service_account.create': {
    prepare: async (stage) => {
      const slug = stage.word()
      return { ...inProject((await newProject(stage)).id), body: { name: slug, slug, reason: slug } }
    },
    effect: ({ params, body }) => [part('account', 'service_accounts where project_id = $1 and slug = $2', params.project_id, body.slug)],
  },
  'service_account.disable': {
    prepare: async (stage) => ({ ...(await anAccount(stage)), body: { reason: stage.word() } }),
    effect: accountIs('disabled'),
  },
  'service_account.enable': {
    prepare: async (stage) => {
      const there = await anAccount(stage)
      await stage.done('service_account.disable', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: accountIs('active'),
  },
  'service_account.delete': {
    prepare: async (stage) => {
      const { person, params } = await anAccount(stage)
      const { service_account_id, ...there } = params
      const body = {
        principal_type: 'service_account',
        principal_id: service_account_id,
        role_name: 'project_viewer',
        reason: stage.word(),
      }
      await stage.done('role_binding.create_of_project', { person, params: there, body })
      return { person, params, body: { reason: stage.word() } }
    },
    effect: (asking) => [
      ...accountIs('deleted')(asking),
      part(
        'binding',
        'project_role_bindings where principal_id = $1 and delete_reason = $2',
        asking.params.service_account_id,
        asking.body.reason,
      ),
    ],
  },
  'service_account.key.create': {
    prepare: async (stage) => ({ ...(await anAccount(stage)), body: { reason: stage.word() } }),
    effect: ({ params }) => [part('key', 'service_account_keys where service_account_id = $1', params.service_account_id)],
  },
  'service_account.key.rotate': {
    prepare: async (stage) => ({ ...(await aKey(stage)), body: { overlap_seconds: 600, reason: stage.word() } }),
    effect: ({ params }) => [
      part('key', 'service_account_keys where service_account_id = $1 and id <> $2', params.service_account_id, params.key_id),
      part('end of the older', 'service_account_keys where id = $1 and expires_at is not null', params.key_id),
    ],
  },
  'service_account.key.revoke': {
    prepare: async (stage) => ({ ...(await aKey(stage)), body: { reason: stage.word() } }),
    effect: ({ params, body }) => [part('end', 'service_account_keys where id = $1 and revoke_reason = $2', params.key_id, body.reason)],
  },
}
