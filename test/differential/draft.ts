import type { Chance } from './chance.ts'
import { builtinsOf, keysOf, type Tier } from './keys.ts'
import type { Question } from './question.ts'
import type { Rows } from './rows.ts'
import { type Rule, rule, ruleKeys } from './rules.ts'

export type Builtins = ReadonlyMap<string, { definition: string; version: string }>

/** A world in the making, and where its parts are. */
export interface Draft {
  chance: Chance
  builtins: Builtins
  rows: Rows
  question: Question
  tier: Tier
  /** As whom the actor is bound to roles. */
  principal_type: 'user' | 'service_account'
  actor: string
  tenant: string
  project: string
  elsewhere: { tenant: string; project: string }
  id(): string
}

/** An instant of the year in which all worlds lie. */
export const anyTime = (chance: Chance): string => new Date(Date.UTC(2026, 0, 1) + chance.below(365 * 86_400_000)).toISOString()

/** Shifted in seconds from the question's instant. */
export const shifted = (now: string, seconds: number): string => new Date(Date.parse(now) + seconds * 1000).toISOString()

/** A custom role with one to three versions; the one that is returned holds these keys. */
export const customRole = (draft: Draft, tier: 'tenant' | 'project', scope: string, keys: readonly string[]) => {
  const { chance, rows, id } = draft
  const versions = Array.from({ length: chance.one([1, 1, 2, 3]) }, () => id())
  const version = chance.one(versions)
  const usual = `custom_${rows.role_definitions.length}`
  const borrowed = chance.one(builtinsOf[tier])
  const isTaken = rows.role_definitions.some((one) => one.name === borrowed)
  const definition: Rows['role_definitions'][number] = {
    id: id(),
    scope_type: tier,
    tenant_id: tier === 'tenant' ? scope : null,
    project_id: tier === 'project' ? scope : null,
    // A custom role may be called like a built-in one and is none.
    name: chance.is(0.1) && !isTaken ? borrowed : usual,
    state: 'active',
    current_version_id: chance.is(0.7) ? versions.at(-1)! : chance.one(versions),
    deleted_at: null,
  }
  rows.role_definitions.push(definition)
  versions.forEach((each, at) => {
    rows.role_definition_versions.push({ id: each, role_definition_id: definition.id, version: at + 1 })
    const held = new Set([...chance.some(keysOf[tier], 0.06), ...(each === version ? keys : [])])
    for (const permission_key of held) rows.role_permissions.push({ role_version_id: each, permission_key })
  })
  return { definition, version }
}

export const bind = (draft: Draft, tier: 'tenant' | 'project', scope: string, role_version_id: string): void => {
  const { rows, actor, id, principal_type } = draft
  const row = { id: id(), principal_id: actor, role_version_id, expires_at: null, deleted_at: null }
  if (tier === 'tenant') {
    if (rows.tenant_role_bindings.some((one) => one.tenant_id === scope && one.role_version_id === role_version_id)) return
    rows.tenant_role_bindings.push({ ...row, tenant_id: scope })
  } else {
    if (rows.project_role_bindings.some((one) => one.project_id === scope && one.role_version_id === role_version_id)) return
    rows.project_role_bindings.push({ ...row, project_id: scope, principal_type })
  }
}

export const bindPlatform = ({ rows, actor, id, builtins }: Draft, name: string): void => {
  const role_definition_id = builtins.get(name)!.definition
  if (rows.platform_role_bindings.some((one) => one.role_definition_id === role_definition_id && one.deleted_at === null)) return
  rows.platform_role_bindings.push({ id: id(), principal_id: actor, role_definition_id, deleted_at: null })
}

export const addRule = (draft: Draft, changed: Partial<Rule> = {}, keys: readonly string[] = ruleKeys): void => {
  const { chance, rows, tenant, project, id, question } = draft
  const isTenants = chance.is(0.5)
  const at = { key: chance.one(keys), scope_type: isTenants ? ('tenant' as const) : ('project' as const) }
  const scope = { tenant_id: isTenants ? tenant : null, project_id: isTenants ? null : project }
  if (rows.policy_constraints.some((one) => one.key === at.key && one.scope_type === at.scope_type && one.replaced_at === null)) return
  rows.policy_constraints.push({ ...rule(chance, { constraint_id: id(), ...at, ...scope }, question.action), ...changed })
}
