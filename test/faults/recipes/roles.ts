import { fixedId } from '../../../server/src/ground/kernel/ids.ts'
import { seeded } from '../../live-server.ts'
import { inOrganization, inProject, memberships, newOrganization, newProject } from './places.ts'
import { type Asking, part, type Recipe, type Recipes, type Stage } from './recipe.ts'

const { org, user } = seeded

const isRoleDisabled = ({ params, body }: Asking) => [
  part('disabled', `role_definitions where id = $1 and state = 'disabled' and disable_reason = $2`, params.role_id, body.reason),
]
const isRoleEnabled = ({ params }: Asking) => [part('enabled', `role_definitions where id = $1 and state = 'active'`, params.role_id)]

/** Both scopes of roles: a place of one's own, which its owner has to himself. */
const roleScenes = {
  of_organization: {
    tier: 'tenant',
    keys: ['tenant.read', 'tenant.user.read'],
    begin: async (stage: Stage) => inOrganization((await newOrganization(stage)).id, 'alice'),
  },
  of_project: {
    tier: 'project',
    keys: ['storage.read', 'storage.write'],
    begin: async (stage: Stage) => inProject((await newProject(stage)).id),
  },
} as const

const onRolesOf = (scope: string, { tier, keys, begin }: (typeof roleScenes)[keyof typeof roleScenes]): [string, Recipe][] => {
  const words = (stage: Stage) => ({ reason: stage.word() })
  const defined = async (stage: Stage) => {
    const there = await begin(stage)
    const body = { name: stage.word(), permissions: [keys[0]], ...words(stage) }
    const { id } = await stage.done(`role.create_${scope}`, { ...there, body })
    return { role_id: id, there, one: { ...there, params: { ...there.params, role_id: id } } }
  }
  const bound = async (stage: Stage) => {
    const { role_id, there, one } = await defined(stage)
    const body = { principal_type: 'user', principal_id: user('alice'), role_id, ...words(stage) }
    const { id } = await stage.done(`role_binding.create_${scope}`, { ...there, body })
    return { role_id, there, one, binding_id: id }
  }
  const bindings = `${tier}_role_bindings b join role_definition_versions v on v.id = b.role_version_id where b.role_definition_id = $1`
  return [
    [
      `role.create_${scope}`,
      {
        actions: ['role.create'],
        prepare: async (stage) => ({ ...(await begin(stage)), body: { name: stage.word(), permissions: keys, ...words(stage) } }),
        effect: ({ body }) => [
          part('role', 'role_definitions where name = $1', body.name),
          part('version', 'role_definition_versions where reason = $1', body.reason),
        ],
      },
    ],
    [
      `role.update_${scope}`,
      {
        actions: ['role.update'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: { permissions: keys, expected_version: 1, ...words(stage) } }),
        effect: ({ params, body }) => [
          part(
            'version',
            'role_definition_versions v join role_definitions d on d.current_version_id = v.id where d.id = $1 and v.version = 2 and v.reason = $2',
            params.role_id,
            body.reason,
          ),
        ],
      },
    ],
    [
      `role.delete_${scope}`,
      {
        actions: ['role.delete'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: words(stage) }),
        effect: ({ params, body }) => [part('end', 'role_definitions where id = $1 and delete_reason = $2', params.role_id, body.reason)],
      },
    ],
    [
      `role.disable_${scope}`,
      {
        actions: ['role.disable'],
        prepare: async (stage) => ({ ...(await defined(stage)).one, body: { mode: 'block_all_now', ...words(stage) } }),
        effect: isRoleDisabled,
      },
    ],
    [
      `role.enable_${scope}`,
      {
        actions: ['role.enable'],
        prepare: async (stage) => {
          const { one } = await defined(stage)
          await stage.done(`role.disable_${scope}`, { ...one, body: { mode: 'block_all_now', ...words(stage) } })
          return { ...one, body: words(stage) }
        },
        effect: isRoleEnabled,
      },
    ],
    [
      `role.upgrade_${scope}`,
      {
        actions: ['role.upgrade'],
        prepare: async (stage) => {
          const { one } = await bound(stage)
          await stage.done(`role.update_${scope}`, { ...one, body: { permissions: keys, expected_version: 1, ...words(stage) } })
          const between = { from_version: 1, to_version: 2 }
          const seen: unknown = await stage.done(`role.preview_upgrade_${scope}`, { ...one, body: between })
          return { ...one, body: { ...between, preview_hash: (seen as { preview_hash: string }).preview_hash, ...words(stage) } }
        },
        effect: ({ params }) => [
          part('end of the one before', `${bindings} and v.version = 1 and b.delete_reason = 'upgraded'`, params.role_id),
          part('binding', `${bindings} and v.version = 2 and b.deleted_at is null`, params.role_id),
        ],
      },
    ],
    [
      `role_binding.create_${scope}`,
      {
        actions: ['role_binding.create'],
        prepare: async (stage) => {
          const { role_id, there } = await defined(stage)
          return { ...there, body: { principal_type: 'user', principal_id: user('alice'), role_id, ...words(stage) } }
        },
        effect: ({ body }) => [part('binding', `${bindings} and b.deleted_at is null`, body.role_id)],
      },
    ],
    [
      `role_binding.end_${scope}`,
      {
        actions: ['role_binding.end'],
        prepare: async (stage) => {
          const { there, binding_id } = await bound(stage)
          return { ...there, params: { ...there.params, binding_id }, body: words(stage) }
        },
        effect: ({ params, body }) => [
          part('end', `${tier}_role_bindings where id = $1 and delete_reason = $2`, params.binding_id, body.reason),
        ],
      },
    ],
  ]
}

/** Built-in roles that no other recipe needs, in turn: by the time one comes again, whoever switched it is done. */
const switched = ['tenant_billing_manager', 'tenant_billing_viewer', 'tenant_admin', 'project_admin', 'project_member', 'platform_ops']
const nextSwitched = () => {
  switched.push(switched.shift()!)
  return { person: 'ada', params: { role_id: fixedId('role', switched[0]!) } }
}
/** So that it is as it must be; it may be so already. */
const switchTo = async (stage: Stage, to: 'enable' | 'disable', asking: Pick<Asking, 'person' | 'params'>) => {
  const body = to === 'disable' ? { mode: 'block_all_now', reason: stage.word() } : { reason: stage.word() }
  await stage.done(`role.${to}_builtin`, { ...asking, body }).catch(() => {})
  return asking
}

export const roles: Recipes = {
  ...Object.fromEntries(Object.entries(roleScenes).flatMap(([scope, scene]) => onRolesOf(scope, scene))),
  'role.disable_builtin': {
    lock: 'platform chain',
    actions: ['role.disable'],
    prepare: async (stage) => ({
      ...(await switchTo(stage, 'enable', nextSwitched())),
      body: { mode: 'block_all_now', reason: stage.word() },
    }),
    effect: isRoleDisabled,
  },
  'role.enable_builtin': {
    lock: 'platform chain',
    actions: ['role.enable'],
    prepare: async (stage) => ({ ...(await switchTo(stage, 'disable', nextSwitched())), body: { reason: stage.word() } }),
    effect: isRoleEnabled,
  },
  'role_binding.create_of_platform': {
    lock: 'platform chain',
    actions: ['role_binding.create'],
    prepare: async (stage) => ({
      person: 'ada',
      params: {},
      body: { principal_type: 'user', principal_id: stage.person().id, role_name: 'platform_user', reason: stage.word() },
    }),
    effect: ({ body }) => [part('binding', 'platform_role_bindings where principal_id = $1 and deleted_at is null', body.principal_id)],
  },
  'role_binding.end_of_platform': {
    lock: 'platform chain',
    actions: ['role_binding.end'],
    prepare: async (stage) => {
      const body = { principal_type: 'user', principal_id: stage.person().id, role_name: 'platform_user', reason: stage.word() }
      const { id } = await stage.done('role_binding.create_of_platform', { person: 'ada', params: {}, body })
      return { person: 'ada', params: { binding_id: id }, body: { reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('end', 'platform_role_bindings where id = $1 and delete_reason = $2', params.binding_id, body.reason),
    ],
  },
  'project.owner.appoint': {
    lock: 'seeded organization',
    // Its owner has left the organization, which a project cannot stop.
    prepare: async (stage) => {
      const { id: owner_user_id } = stage.person()
      const slug = stage.word()
      const asking = { ...inOrganization(org.aurora, 'alice'), body: { name: slug, slug, owner_user_id, reason: slug } }
      const { id } = await stage.done('project.create', asking)
      const leaving = { ...asking, params: { ...asking.params, user_id: owner_user_id }, body: { reason: stage.word() } }
      await stage.done('organization.member.remove', leaving)
      return { ...inProject(id), body: { user_id: user('anna'), reason: stage.word() } }
    },
    effect: ({ params, body }) => {
      const { membership, binding } = memberships('project')
      const values = [params.project_id, body.user_id]
      return [part('membership', membership, ...values), part('binding', `${binding} and deleted_at is null`, ...values)]
    },
  },
}
