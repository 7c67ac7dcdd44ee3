import { part, type Recipes } from './recipe.ts'

export const principals: Recipes = {
  'user.disable': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: 'ada', params: { user_id: stage.person().id }, body: { reason: stage.word() } }),
    effect: ({ params, body }) => [
      part('disabled', 'users where id = $1 and disabled_at is not null and disable_reason = $2', params.user_id, body.reason),
    ],
  },
  'user.enable': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const there = { person: 'ada', params: { user_id: stage.person().id } }
      await stage.done('user.disable', { ...there, body: { reason: stage.word() } })
      return { ...there, body: { reason: stage.word() } }
    },
    effect: ({ params }) => [part('enabled', 'users where id = $1 and disabled_at is null', params.user_id)],
  },
  // Not a change by its contract, but one in fact when a stranger asks it: who is new gets a record and a place.
  'me.read': {
    lock: 'platform chain',
    prepare: async ({ word }) => ({ person: `new-${word()}`, params: {}, body: {} }),
    effect: ({ person }) => {
      const own = 'join users u on u.id = m.user_id where u.oidc_subject = $1 and m.deleted_at is null'
      const bound = 'join users u on u.id = b.principal_id where u.oidc_subject = $1 and b.deleted_at is null'
      return [
        part('user', 'users where oidc_subject = $1', person),
        part('organization', `tenant_memberships m ${own}`, person),
        part('project', `project_memberships m ${own}`, person),
        part('tenant binding', `tenant_role_bindings b ${bound}`, person),
        part('project binding', `project_role_bindings b ${bound}`, person),
      ]
    },
    actions: ['user.create', 'organization.create', 'project.create'],
  },
}
