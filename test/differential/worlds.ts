import { chanceOf } from './chance.ts'
import { addRule, anyTime, type Builtins, bind, bindPlatform, customRole, type Draft } from './draft.ts'
import { allKeys, askedOfPeople, builtinsOf, comesByRelation, keysOf, relationsFor, selfKeys, type Tier } from './keys.ts'
import { type MachineType, type MachineWorld, operatorWorld, serviceAccountWorld } from './machines.ts'
import { perturb, ruleOver } from './perturb.ts'
import type { Question } from './question.ts'
import { type DisabledBuiltin, noRows, type PlatformRoleSource, type Rows } from './rows.ts'
import { attributesOf, type Rule, rule, ruleKeys } from './rules.ts'

export type { Builtins } from './draft.ts'

export interface World {
  index: number
  rows: Rows
  questions: Question[]
}

/** Worlds of one batch lie in one database: what is global they share. */
export interface WorldBatch {
  globals: Rule[]
  platform_role_source: PlatformRoleSource
  disabled_builtins: DisabledBuiltin[]
  /** Keys forced into the mirror of built-in roles, where nobody should hear them. */
  forced_keys: { role_version_id: string; permission_key: string }[]
  worlds: World[]
}

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

const resourceTypes: Record<Tier, readonly string[]> = {
  platform: ['node', 'user', 'audit_log', 'organization'],
  tenant: ['organization', 'user', 'role', 'project'],
  project: ['allocation', 'storage_bucket', 'user', 'project'],
}

/** The question that the world was made for: it names a place in full. */
const askAbout = (draft: Omit<Draft, 'question'>, action: string): Question => {
  const { chance, tier, actor, tenant, project } = draft
  const isSelf = selfKeys.includes(action) ? chance.is(0.8) : chance.is(0.05)
  const resource_type = isSelf ? 'user' : chance.one(resourceTypes[tier])
  const resource_id = isSelf
    ? actor
    : resource_type === 'organization'
      ? tenant
      : resource_type === 'project'
        ? project
        : chance.is(0.3)
          ? draft.id()
          : null
  const inProject =
    tier === 'project' ||
    resource_type === 'project' ||
    (tier === 'tenant' && (action === 'project.read' ? chance.is(0.9) : chance.is(0.25)))
  return {
    id: 0,
    actor_id: actor,
    action,
    resource_type,
    resource_id,
    tenant_id: tier === 'platform' && chance.is(0.7) ? null : tenant,
    project_id: inProject && tier !== 'platform' ? project : null,
    relations: relationsFor(chance, action),
    attributes: attributesOf(chance, 0.04),
    token: null,
    elevations: [],
    now: anyTime(chance),
  }
}

/** Gives the actor what the question needs, in one of the ways there are. */
const grant = (draft: Draft): void => {
  const { chance, tier, question, tenant, project, builtins } = draft
  if (comesByRelation(question.action) && chance.is(0.6)) return
  if (tier === 'platform') {
    if (!/^me\./.test(question.action)) bindPlatform(draft, chance.is(0.85) ? 'platform_ops' : 'platform_superadmin')
    return
  }
  const scope = tier === 'tenant' ? tenant : project
  if (chance.is(0.5)) bind(draft, tier, scope, customRole(draft, tier, scope, [question.action]).version)
  else {
    const owner = builtinsOf[tier][0]!
    const name = /billing|invoice/.test(question.action) ? 'tenant_billing_manager' : chance.is(0.6) ? owner : chance.one(builtinsOf[tier])
    bind(draft, tier, scope, builtins.get(name)!.version)
  }
}

/** What is there besides and should change nothing. */
const furnish = (draft: Draft): void => {
  const { chance, rows, tenant, project, builtins, elsewhere, actor, id } = draft
  if (chance.is(0.15)) bind(draft, 'tenant', tenant, builtins.get(chance.one(builtinsOf.tenant))!.version)
  if (chance.is(0.15)) bind(draft, 'project', project, builtins.get(chance.one(builtinsOf.project))!.version)
  if (chance.is(0.05)) bindPlatform(draft, 'platform_user')
  // Once he was one; who still is by the old column, oftener.
  if (chance.is(rows.users[0]!.role === 'admin' ? 0.35 : 0.05)) {
    const role_definition_id = builtins.get('platform_superadmin')!.definition
    rows.platform_role_bindings.push({ id: id(), principal_id: actor, role_definition_id, deleted_at: draft.question.now })
  }
  if (chance.is(0.1)) rows.tenant_memberships.push({ id: id(), tenant_id: elsewhere.tenant, user_id: actor, deleted_at: null })
  if (chance.is(0.1)) bind(draft, 'tenant', elsewhere.tenant, builtins.get('tenant_owner')!.version)
  if (chance.is(0.05)) rows.tenant_memberships.push({ id: id(), tenant_id: tenant, user_id: actor, deleted_at: draft.question.now })
}

/** What changed may have come to lie on another row, and the tables take each only once. */
const onceEach = <Row>(rows: readonly Row[], nameOf: (row: Row) => string): Row[] => [
  ...new Map(rows.map((row) => [nameOf(row), row])).values(),
]

/** In turns, so that a few batches have all of them. */
const sources: readonly PlatformRoleSource[] = ['bindings', 'transition', 'bindings', 'users_role']
const tierWeights = { platform: 10, tenant: 42, project: 48 }

const machineWorlds: Record<MachineType, MachineWorld> = { service_account: serviceAccountWorld, shared_runtime_operator: operatorWorld }
/** Of ten worlds two are about service accounts and two about operators. */
const machineAt = (index: number): MachineType | undefined =>
  (({ 3: 'service_account', 6: 'shared_runtime_operator', 8: 'service_account', 9: 'shared_runtime_operator' }) as const)[index % 10]

/** A world in which the actor may, or very nearly so; then up to three things go wrong, or rules are made about it. */
const worldOf = (seed: number, index: number, builtins: Builtins, ruled: number): World => {
  const chance = chanceOf(seed * 1_000_003 + index)
  let made = 0
  const id = () => {
    made += 1
    return `${hex(index, 8)}-0000-8000-8000-${hex(made, 12)}`
  }
  const [actor, tenant, project] = [id(), id(), id()]
  const elsewhere = { tenant: id(), project: id() }
  const tier = chance.weighted(tierWeights)
  const rows = noRows()
  const place = { chance, builtins, rows, tier, principal_type: 'user' as const, actor, tenant, project, elsewhere, id }
  for (const [org, lies] of [
    [tenant, project],
    [elsewhere.tenant, elsewhere.project],
  ] as const) {
    rows.organizations.push({ id: org, state: 'active', deleted_at: null })
    rows.projects.push({ id: lies, org_id: org, state: 'active' })
  }
  const machine = machineAt(index)
  if (machine) return { index, rows, ...machineWorlds[machine]({ ...place, ruled }) }
  const asked = chance.is(0.95) ? askedOfPeople : keysOf
  const draft: Draft = { ...place, question: askAbout(place, chance.one(asked[tier])) }
  rows.users.push({ id: actor, role: chance.is(0.1) ? 'admin' : 'user', disabled_at: null })
  rows.tenant_memberships.push({ id: id(), tenant_id: tenant, user_id: actor, deleted_at: null })
  rows.project_memberships.push({ id: id(), project_id: project, user_id: actor, deleted_at: null })
  grant(draft)
  furnish(draft)
  if (chance.is(ruled)) ruleOver(draft)
  else {
    for (let rules = chance.one([0, 0, 0, 1, 1, 2]); rules > 0; rules -= 1) addRule(draft)
    for (let wrong = chance.one([0, 1, 1, 1, 1, 2, 2, 3]); wrong > 0; wrong -= 1) perturb(draft)
  }
  rows.tenant_role_bindings = onceEach(rows.tenant_role_bindings, ({ tenant_id, role_version_id }) => tenant_id + role_version_id)
  rows.project_role_bindings = onceEach(rows.project_role_bindings, ({ project_id, role_version_id }) => project_id + role_version_id)
  const questions = [draft.question]
  // The same world asked once more, about something it was not made for.
  if (chance.is(0.15))
    questions.push({ ...askAbout(place, chance.one(keysOf[tier])), now: draft.question.now, token: draft.question.token })
  return { index, rows, questions }
}

/** So many worlds from an index on, with what they share; `ruled` is the share of those that are about rules. */
export const batchOf = (seed: number, first: number, count: number, builtins: Builtins, ruled = 0.12): WorldBatch => {
  const chance = chanceOf(seed * 7919 + first + 1)
  const worlds = Array.from({ length: count }, (_, at) => worldOf(seed, first + at, builtins, ruled))
  let id = 0
  for (const { questions } of worlds) for (const question of questions) question.id = id++
  const globals = chance.some(ruleKeys, 0.4).map((key, at): Rule => {
    const scope = { scope_type: 'global' as const, tenant_id: null, project_id: null }
    const action = chance.one(keysOf[chance.weighted(tierWeights)])
    return rule(chance, { constraint_id: `ffffffff-0000-8000-8000-${hex(at, 12)}`, key, ...scope }, action)
  })
  // The questions lie anywhere in the year, so that a grace is over for some of them and not for others.
  const disabled_builtins = chance
    .some(Object.values(builtinsOf).flat(), 0.07)
    .map((name): DisabledBuiltin => ({ name, grace_until: chance.is(0.3) ? anyTime(chance) : null }))
  const forced_keys = Array.from({ length: chance.below(4) }, () => ({
    role_version_id: builtins.get(chance.one([...builtinsOf.tenant, ...builtinsOf.project]))!.version,
    permission_key: chance.one([...allKeys, 'authorization.override.all']),
  }))
  const platform_role_source = sources[(seed + Math.floor(first / count)) % sources.length]!
  return { globals, platform_role_source, disabled_builtins, forced_keys, worlds }
}

export const rowsOf = ({ globals, worlds }: Pick<WorldBatch, 'globals' | 'worlds'>): Rows => {
  const all = noRows()
  for (const { rows } of worlds)
    for (const name of Object.keys(all) as (keyof Rows)[]) for (const row of rows[name]) all[name].push(row as never)
  all.policy_constraints.push(...globals)
  return all
}
