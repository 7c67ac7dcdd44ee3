import { addRule, bind, bindPlatform, customRole, type Draft, shifted } from './draft.ts'
import { allKeys, builtinsOf, keysOf, tierOf, ungrantable } from './keys.ts'
import type { Elevation } from './question.ts'
import { attributesOf, ruleKeys } from './rules.ts'

/** The bindings that the question could rest on. */
const bindingsOf = ({ rows, tier }: Draft) =>
  tier === 'platform' ? rows.platform_role_bindings : tier === 'tenant' ? rows.tenant_role_bindings : rows.project_role_bindings

const scopeOf = ({ tier, tenant, project }: Draft) => (tier === 'project' ? project : tenant)
const tierWithRoles = ({ tier }: Draft) => (tier === 'project' ? 'project' : 'tenant')

const elevation = (draft: Draft): Elevation => {
  const { chance, question, tenant, project, elsewhere, id } = draft
  const scope = chance.weighted({ global: 10, tenant: 45, project: 45 })
  const where = chance.is(0.85) ? { tenant, project } : elsewhere
  const [starts, ends] = chance.one([
    [-3600, 3600],
    [-3600, 3600],
    [-3600, 3600],
    [0, 60],
    [-60, 0],
    [-7200, -3600],
    [1, 60],
  ])
  const key = id()
  return {
    // Not in the order in which they are listed.
    id: `${key.slice(0, 9)}${chance.below(65536).toString(16).padStart(4, '0')}${key.slice(13)}`,
    scope,
    tenant_id: scope === 'global' ? null : where.tenant,
    project_id: scope === 'project' ? where.project : null,
    actions: chance.is(0.85) ? [...chance.some(allKeys, 0.03), question.action] : chance.some(allKeys, 0.05),
    starts_at: shifted(question.now, starts!),
    ends_at: shifted(question.now, ends!),
  }
}

/** How a world goes wrong: each changes one thing, some of them to what no trigger would let pass. */
const perturbations = {
  end_tenant_membership: ({ rows, question }: Draft) => {
    rows.tenant_memberships[0]!.deleted_at = question.now
  },
  end_project_membership: ({ rows, question }: Draft) => {
    rows.project_memberships[0]!.deleted_at = question.now
  },
  drop_memberships: (draft: Draft) => {
    const { rows, chance } = draft
    if (chance.is(0.5))
      rows.tenant_memberships.splice(0, 1, {
        ...rows.tenant_memberships[0]!,
        tenant_id: draft.elsewhere.tenant,
        deleted_at: draft.question.now,
      })
    else rows.project_memberships.splice(0, 1, { ...rows.project_memberships[0]!, project_id: draft.elsewhere.project })
  },
  disable_role: (draft: Draft) => {
    const { rows, chance } = draft
    if (rows.role_definitions.length === 0) {
      for (const name of ['tenant_role_bindings', 'project_role_bindings'] as const) rows[name].length = 0
      const scope = scopeOf(draft)
      bind(draft, tierWithRoles(draft), scope, customRole(draft, tierWithRoles(draft), scope, [draft.question.action]).version)
    }
    for (const definition of rows.role_definitions) {
      if (chance.is(0.9)) definition.state = 'disabled'
      if (definition.state === 'disabled' && chance.is(0.25))
        definition.grace_until = shifted(draft.question.now, chance.one([-3600, -1, 0, 0, 1, 3600]))
    }
  },
  delete_role: ({ rows, chance, question }: Draft) => {
    for (const definition of rows.role_definitions) {
      definition.deleted_at = question.now
      if (chance.is(0.3)) definition.state = 'disabled'
    }
  },
  expire_binding: ({ rows, chance, question }: Draft) => {
    for (const binding of [...rows.tenant_role_bindings, ...rows.project_role_bindings])
      binding.expires_at = shifted(question.now, chance.one([-3600, -1, 0, 0, 1, 3600]))
  },
  end_binding: (draft: Draft) => {
    for (const binding of bindingsOf(draft)) if (draft.chance.is(0.8)) binding.deleted_at = draft.question.now
  },
  // Another version of the same role: only the bound one counts.
  bind_other_version: (draft: Draft) => {
    const { rows, chance } = draft
    const [definition] = rows.role_definitions
    if (!definition) return
    const versions = rows.role_definition_versions.filter(({ role_definition_id }) => role_definition_id === definition.id)
    const scope = definition.scope_type === 'tenant' ? draft.tenant : draft.project
    if (chance.is(0.5)) rows[`${definition.scope_type}_role_bindings`].length = 0
    bind(draft, definition.scope_type, scope, chance.one(versions).id)
  },
  // Keys of another tier, and such as no custom role may hold.
  force_keys: (draft: Draft) => {
    const { rows, chance, question } = draft
    const tier = tierWithRoles(draft)
    const forced = [
      ...chance.some(ungrantable, 0.4),
      ...chance.some(keysOf[tier === 'tenant' ? 'project' : 'tenant'], 0.2),
      'tenant.unheard.of',
    ]
    if (chance.is(0.6)) rows[`${tier}_role_bindings`].length = 0
    bind(draft, tier, scopeOf(draft), customRole(draft, tier, scopeOf(draft), forced).version)
    if (chance.is(0.6)) ask(draft, chance.one(forced.filter((key) => allKeys.includes(key)).concat(question.action)))
  },
  // Bound here, but the role is the neighbour's.
  foreign_role: (draft: Draft) => {
    const { rows, chance, elsewhere, question } = draft
    const tier = tierWithRoles(draft)
    if (chance.is(0.7)) rows[`${tier}_role_bindings`].length = 0
    const { definition, version } = customRole(draft, tier, tier === 'tenant' ? elsewhere.tenant : elsewhere.project, [question.action])
    if (chance.is(0.3)) definition.state = 'disabled'
    bind(draft, tier, scopeOf(draft), version)
  },
  // A role of one tier bound in the other.
  other_tier_role: (draft: Draft) => {
    const { rows, chance, tenant, project, builtins } = draft
    const tier = tierWithRoles(draft)
    if (chance.is(0.7)) rows[`${tier}_role_bindings`].length = 0
    const other = tier === 'tenant' ? 'project' : 'tenant'
    const custom = () => customRole(draft, other, other === 'tenant' ? tenant : project, [draft.question.action]).version
    bind(draft, tier, scopeOf(draft), chance.is(0.5) ? builtins.get(builtinsOf[other][0]!)!.version : custom())
  },
  // The binding is of a machine that happens to have the same id.
  machine_binding: ({ rows }: Draft) => {
    for (const binding of rows.project_role_bindings) binding.principal_type = 'service_account'
  },
  move_binding: ({ rows, elsewhere, chance }: Draft) => {
    if (chance.is(0.5)) for (const binding of rows.tenant_role_bindings) binding.tenant_id = elsewhere.tenant
    else for (const binding of rows.project_role_bindings) binding.project_id = elsewhere.project
  },
  another_builtin: (draft: Draft) => {
    const name = draft.chance.one(builtinsOf[tierWithRoles(draft)])
    bind(draft, tierWithRoles(draft), scopeOf(draft), draft.builtins.get(name)!.version)
  },
  deny: (draft: Draft) => addRule(draft, { state: 'active', actions: [draft.question.action] }),
  deny_all: (draft: Draft) => addRule(draft, { state: 'active', condition: {}, is_locked: draft.chance.is(0.5) }),
  replaced_rule: (draft: Draft) => addRule(draft, { state: 'active', condition: {}, replaced_at: draft.question.now }),
  disable_actor: ({ rows, question }: Draft) => {
    for (const user of rows.users) user.disabled_at = question.now
  },
  unknown_actor: ({ rows, chance, question, id }: Draft) => {
    if (chance.is(0.5)) rows.users.length = 0
    else question.actor_id = id()
  },
  superadmin: (draft: Draft) => bindPlatform(draft, 'platform_superadmin'),
  operations: (draft: Draft) => bindPlatform(draft, 'platform_ops'),
  suspend: ({ rows }: Draft) => {
    rows.organizations[0]!.state = 'suspended'
  },
  archive: ({ rows }: Draft) => {
    rows.projects[0]!.state = 'archived'
  },
  delete_organization: ({ rows, question }: Draft) => {
    rows.organizations[0]!.deleted_at = question.now
  },
  token: (draft: Draft) => {
    const { chance, question, tenant, project, elsewhere } = draft
    const where = chance.is(0.7) ? { tenant, project } : elsewhere
    question.token = {
      tenant_id: chance.is(0.7) ? where.tenant : null,
      project_id: chance.is(0.4) ? where.project : null,
      actions: chance.is(0.5) ? null : chance.is(0.6) ? [...chance.some(allKeys, 0.05), question.action] : chance.some(allKeys, 0.05),
    }
  },
  elevate: (draft: Draft) => {
    const { chance, question } = draft
    for (let count = chance.one([1, 1, 2, 3]); count > 0; count -= 1) question.elevations.push(elevation(draft))
  },
  hostile_attributes: ({ question, chance }: Draft) => {
    question.attributes = attributesOf(chance, 0.5)
  },
  other_action: (draft: Draft) => ask(draft, draft.chance.one(allKeys)),
  other_place: ({ question, chance, elsewhere }: Draft) => {
    if (chance.is(0.4)) question.tenant_id = elsewhere.tenant
    if (chance.is(0.4)) question.project_id = elsewhere.project
    if (chance.is(0.2)) question.tenant_id = null
  },
  nowhere: ({ question, chance, id }: Draft) => {
    if (chance.is(0.5)) Object.assign(question, { tenant_id: null, project_id: null, resource_id: null })
    else question.project_id = id()
  },
  whole_resource: ({ question, chance, tenant, project }: Draft) => {
    // The place is what the resource itself is.
    const isProject = chance.is(0.5)
    Object.assign(question, { resource_type: isProject ? 'project' : 'organization', resource_id: isProject ? project : tenant })
    question.tenant_id = chance.is(0.3) ? question.tenant_id : null
    question.project_id = chance.is(0.3) ? question.project_id : null
  },
} as const

export type PerturbationName = keyof typeof perturbations

/** About another action; the tier that the world was made for stays. */
const ask = ({ question, tenant, project }: Draft, action: string): void => {
  question.action = action
  question.tenant_id ??= tenant
  if (tierOf(action) === 'project') question.project_id ??= project
}

/** How often each, so that no reason is rare. */
const weights: Record<PerturbationName, number> = {
  ...(Object.fromEntries(Object.keys(perturbations).map((name) => [name, 2])) as Record<PerturbationName, number>),
  disable_role: 24,
  disable_actor: 4,
  unknown_actor: 2,
  superadmin: 4,
  elevate: 6,
  token: 10,
  suspend: 3,
  archive: 3,
}

export const perturbAs = (draft: Draft, name: PerturbationName): void => perturbations[name](draft)

export const perturb = (draft: Draft): void => perturbAs(draft, draft.chance.weighted(weights))

/** Several rules about one request that nothing else stands in the way of. */
export const ruleOver = (draft: Draft): void => {
  const { chance, question } = draft
  for (let rules = 2 + chance.below(3); rules > 0; rules -= 1)
    addRule(draft, chance.is(0.6) ? { actions: [question.action] } : {}, ruleKeys.slice(0, 3))
  question.attributes = attributesOf(chance, 0.15)
  if (chance.is(0.2)) perturbAs(draft, 'elevate')
}
