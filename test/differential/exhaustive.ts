import type { Question } from './question.ts'
import { noRows, type Rows } from './rows.ts'
import type { Rule } from './rules.ts'
import type { Builtins, World, WorldBatch } from './worlds.ts'

/** Every combination of what the steps of a decision ask about: nothing is left to chance here. */
const both = [false, true] as const
const roles = ['none', 'active', 'disabled'] as const
const tokens = ['none', 'inside', 'outside'] as const
const rules = [
  ...(['none', 'tenant', 'tenant locked', 'project', 'project locked', 'tenant, exempted', 'tenant locked, exempted'] as const),
  ...(['global', 'global, exempted', 'global locked, exempted'] as const),
]

// Of each tier: eligible for override or not, read or not.
const actions = {
  tenant: ['tenant.read', 'tenant.role.read', 'tenant.billing.read', 'tenant.update', 'tenant.billing.write'],
  project: ['project.member.read', 'allocation.read', 'project.member.invite', 'allocation.create', 'terminal.connect'],
}
const asked = Object.values(actions).flat()
const now = '2026-06-01T12:00:00.000Z'

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

/** All combinations of one value of each. */
const product = <T extends Record<string, readonly unknown[]>>(choices: T): { [K in keyof T]: T[K][number] }[] =>
  Object.entries(choices).reduce<Record<string, unknown>[]>(
    (made, [name, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  ) as { [K in keyof T]: T[K][number] }[]

const lands = product({ is_suspended: both, is_archived: both, rule: rules })
const people = product({ is_disabled: both, has_override: both, in_tenant: both, in_project: both, role: roles })
const askings = product({ action: asked, token: tokens, is_elevated: both })

export const combinations = lands.length * people.length * askings.length

type Land = (typeof lands)[number]
const ruleOf = ({ rule: said }: Land) => {
  const [named, exempted] = said.split(', ')
  const [scope, locked] = named!.split(' ') as [Rule['scope_type'] | 'none', string?]
  return { scope, is_locked: locked !== undefined, is_exempted: exempted !== undefined }
}

const rule = (scope_type: Rule['scope_type'], is_locked: boolean): Rule => ({
  ...{ constraint_id: `ffffffff-0000-8000-8000-${hex(0, 12)}`, version: 1, key: 'rule', scope_type, tenant_id: null, project_id: null },
  ...{ actions: asked, condition: {}, time_zone: 'UTC', is_locked, state: 'active', replaced_at: null },
})

const worldOf = (land: Land, index: number, builtins: Builtins): World => {
  let made = 0
  const id = () => {
    made += 1
    return `e${hex(index, 7)}-0000-8000-8000-${hex(made, 12)}`
  }
  const [tenant, project] = [id(), id()]
  const rows = noRows()
  rows.organizations.push({ id: tenant, state: land.is_suspended ? 'suspended' : 'active', deleted_at: null })
  rows.projects.push({ id: project, org_id: tenant, state: land.is_archived ? 'archived' : 'active' })

  const { scope, is_locked, is_exempted } = ruleOf(land)
  const inProject = { constraint_id: id(), tenant_id: null, project_id: project }
  if (scope === 'tenant') rows.policy_constraints.push({ ...rule(scope, is_locked), constraint_id: id(), tenant_id: tenant })
  if (scope === 'project') rows.policy_constraints.push({ ...rule(scope, is_locked), ...inProject })
  if (is_exempted) rows.policy_constraints.push({ ...rule('project', false), ...inProject, state: 'disabled' })

  // One role of each tier and state, which gives all that is asked.
  const versions = Object.fromEntries(
    (['tenant', 'project'] as const).flatMap((tier) =>
      (['active', 'disabled'] as const).map((state) => {
        const [definition, version] = [id(), id()]
        const owner = { tenant_id: tier === 'tenant' ? tenant : null, project_id: tier === 'project' ? project : null }
        rows.role_definitions.push({
          ...{ id: definition, scope_type: tier, ...owner, name: state, state, current_version_id: version, deleted_at: null },
        })
        rows.role_definition_versions.push({ id: version, role_definition_id: definition, version: 1 })
        for (const permission_key of actions[tier]) rows.role_permissions.push({ role_version_id: version, permission_key })
        return [`${tier} ${state}`, version]
      }),
    ),
  )
  const questions = people.flatMap((person) => {
    const actor = id()
    addPerson(rows, id, person, { actor, tenant, project, versions, builtins })
    return askings.map((asking): Question => {
      const elevation = { scope: 'tenant' as const, tenant_id: tenant, project_id: null, actions: [asking.action] }
      return {
        ...{ id: 0, actor_id: actor, action: asking.action, resource_type: 'allocation', resource_id: null, tenant_id: tenant },
        ...{ project_id: project, attributes: {}, now },
        token:
          asking.token === 'none' ? null : { tenant_id: asking.token === 'inside' ? tenant : project, project_id: null, actions: null },
        elevations: asking.is_elevated
          ? [{ id: tenant, ...elevation, starts_at: '2026-06-01T11:00:00.000Z', ends_at: '2026-06-01T13:00:00.000Z' }]
          : [],
      }
    })
  })
  return { index, rows, questions }
}

interface Where {
  actor: string
  tenant: string
  project: string
  versions: Record<string, string>
  builtins: Builtins
}

const addPerson = (rows: Rows, id: () => string, person: (typeof people)[number], where: Where): void => {
  const { actor, tenant, project, versions, builtins } = where
  rows.users.push({ id: actor, role: 'user', disabled_at: person.is_disabled ? now : null })
  if (person.in_tenant) rows.tenant_memberships.push({ id: id(), tenant_id: tenant, user_id: actor, deleted_at: null })
  if (person.in_project) rows.project_memberships.push({ id: id(), project_id: project, user_id: actor, deleted_at: null })
  if (person.has_override) {
    const role_definition_id = builtins.get('platform_superadmin')!.definition
    rows.platform_role_bindings.push({ id: id(), principal_id: actor, role_definition_id, deleted_at: null })
  }
  if (person.role === 'none') return
  const bound = { principal_id: actor, expires_at: null, deleted_at: null }
  rows.tenant_role_bindings.push({ id: id(), tenant_id: tenant, role_version_id: versions[`tenant ${person.role}`]!, ...bound })
  rows.project_role_bindings.push({
    ...{ id: id(), project_id: project, principal_type: 'user', role_version_id: versions[`project ${person.role}`]!, ...bound },
  })
}

/** All of them, in batches of a few lands each; what is global the lands of a batch share. */
export const exhaustiveBatches = (builtins: Builtins, landsPerBatch = 2): WorldBatch[] => {
  const shared = Map.groupBy(lands.entries(), ([, land]) => {
    const { scope, is_locked } = ruleOf(land)
    return scope === 'global' ? `global ${is_locked}` : 'none'
  })
  const batches: WorldBatch[] = []
  for (const alike of shared.values())
    for (let first = 0; first < alike.length; first += landsPerBatch) {
      const some = alike.slice(first, first + landsPerBatch)
      const { scope, is_locked } = ruleOf(some[0]![1])
      const worlds = some.map(([index, land]) => worldOf(land, index, builtins))
      let id = 0
      for (const { questions } of worlds) for (const question of questions) question.id = id++
      const globals = scope === 'global' ? [rule(scope, is_locked)] : []
      batches.push({ globals, platform_role_source: 'bindings', disabled_builtins: [], forced_keys: [], worlds })
    }
  return batches
}
