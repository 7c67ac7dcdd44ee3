import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import type { PlatformMismatch } from '#ground/work/work.ts'
import { delegatedKeys, isFitForServiceAccounts, isGrantable, operatorKeys, type Tier } from './actions.ts'
import { type BuiltinRoleName, highestPlatformRole, isBuiltinRole, permissionsOf, tierOf } from './catalogue.ts'
import type { DecisionInput, Grants, TokenBounds } from './decide.ts'
import type { OperatorStandingRow } from './operator-standing-queries.ts'
import { mismatchOf, platformRolesOf } from './platform-source.ts'
import type { BoundRole, StandingRow } from './standing-queries.ts'

/** How one actor stands in one place: what was read, and what it comes to. */
export interface Standing extends StandingRow {
  /** Of a machine: the place that it never leaves. */
  readonly home?: TokenBounds
  /** The platform roles that count, by the source that is in force. */
  readonly platform_roles: readonly BoundRole[]
  readonly platform_mismatch: PlatformMismatch | null
  /** What the roles come to: once for all time, or at an instant where something of it ends by itself. */
  readonly comes_to: Held | ((now: string) => Held)
}

/** What somebody has by his roles. */
export interface Held extends Pick<DecisionInput, Tier> {
  /** The highest platform role that counts, for the record. */
  readonly platform_role: BuiltinRoleName
}
export const heldAt = ({ comes_to }: Standing, now: string): Held => (typeof comes_to === 'function' ? comes_to(now) : comes_to)

/** A custom role holds only what may be given at its own tier: what was forced into the table beyond that is not heard. */
export const permissionsIn = (tier: Tier, role: BoundRole): ReadonlySet<string> => {
  if (role.is_builtin) return isBuiltinRole(role.name) && tierOf(role.name) === tier ? permissionsOf(role.name) : nothing
  return new Set(role.permissions.filter((key) => isGrantable(key, tier)))
}
const nothing: ReadonlySet<string> = new Set()

/** A role that is being phased out still gives what it gave until its grace is over. An unknown state is not an active one. */
export const isActive = ({ state, grace_until }: Pick<BoundRole, 'state' | 'grace_until'>, now: string): boolean =>
  state === 'active' || (state === 'disabled' && now < (grace_until ?? ''))

export const isLive = ({ expires_at }: BoundRole, now: string): boolean => expires_at === null || now < expires_at

// One role is by far the most common case, and its set is shared by all who have it.
const union = (sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  sets.length < 2 ? (sets[0] ?? nothing) : new Set(sets.flatMap((set) => [...set]))

/** What may be a machine's, whichever role has it. */
const fit = (keys: ReadonlySet<string>): ReadonlySet<string> => new Set([...keys].filter(isFitForServiceAccounts))
const fitting = ({ allowed, by_disabled }: Grants): Grants => ({ allowed: fit(allowed), by_disabled: fit(by_disabled) })

const grantsIn = (tier: Tier, bound: readonly BoundRole[], now: string): Grants => {
  const roles = bound.filter((role) => isLive(role, now))
  const [active, disabled] = [true, false].map((wanted) => roles.filter((role) => isActive(role, now) === wanted))
  return {
    allowed: union(active!.map((role) => permissionsIn(tier, role))),
    by_disabled: union(disabled!.map((role) => permissionsIn(tier, role))),
  }
}

const isNot = (state: string, found: string | null) => found !== null && found !== state

const worked = (row: StandingRow, platform_roles: readonly BoundRole[], now: string): Held => ({
  platform_role: highestPlatformRole(platform_roles.filter((role) => isActive(role, now)).map(({ name }) => name)),
  platform: grantsIn('platform', platform_roles, now),
  tenant: {
    ...grantsIn('tenant', row.tenant_roles, now),
    is_member: row.is_tenant_member,
    is_suspended: isNot('active', row.tenant_state),
  },
  project: {
    ...grantsIn('project', row.project_roles, now),
    // A project membership without one of the tenant that owns it cannot exist; if it did, it would count for nothing.
    is_member: row.is_project_member && row.is_tenant_member,
    is_archived: isNot('active', row.project_state),
  },
})

/** A service account belongs to its project and to no tenant, and has of its roles what is fit for it. */
const workedOfMachine = (row: StandingRow, now: string): Held => {
  const held = worked(row, [], now)
  return { ...held, project: { ...held.project, ...fitting(held.project), is_member: row.is_project_member } }
}

export const standingOfMachine = (row: StandingRow, home: TokenBounds): Standing => ({
  comes_to: row.project_roles.some(ends) ? (now) => workedOfMachine(row, now) : workedOfMachine(row, ''),
  ...row,
  home,
  platform_roles: [],
  platform_mismatch: null,
})

const ends = ({ expires_at, grace_until }: BoundRole): boolean => expires_at !== null || grace_until !== null

/** Most people have one of a few combinations of roles: what these come to is worked out once and held once. */
const shared = recentlyUsed<Held>(10_000)
/** All of a role that has a say in what it gives. */
const named = (roles: readonly BoundRole[]) =>
  roles.map(({ name, is_builtin, state, permissions }) => [name, is_builtin, state, permissions])
const combinationOf = (row: StandingRow, platform_roles: readonly BoundRole[]): string =>
  JSON.stringify([
    named(platform_roles),
    [row.tenant_state, row.is_tenant_member, named(row.tenant_roles)],
    [row.project_state, row.is_project_member, named(row.project_roles)],
  ])

const comesTo = (row: StandingRow, platform_roles: readonly BoundRole[]): Standing['comes_to'] => {
  if ([...platform_roles, ...row.tenant_roles, ...row.project_roles].some(ends)) return (now) => worked(row, platform_roles, now)
  const combination = combinationOf(row, platform_roles)
  const always = shared.get(combination) ?? worked(row, platform_roles, '')
  shared.set(combination, always)
  return always
}

export const standingOf = (row: StandingRow): Standing => {
  const platform_roles = platformRolesOf(row)
  return { comes_to: comesTo(row, platform_roles), ...row, platform_roles, platform_mismatch: mismatchOf(row) }
}

/**
 * An operator has of its tenant what concerns its own runtime, and nothing of a project but that it is attached. It is disabled where its
 * runtime is, and belongs to its tenant while that is live.
 */
export const standingOfOperator = (row: OperatorStandingRow): Standing => {
  const { actor_id, home_tenant_id, tenant_state, project_state, is_disabled, is_live, is_attached, is_eligible, delegated_actions } = row
  const stranger = {
    ...strangerRow(actor_id, is_disabled),
    tenant_state,
    project_state,
    is_tenant_member: is_live,
    is_project_member: is_attached,
  }
  const home = { tenant_id: home_tenant_id, project_id: null, shared_runtime_id: actor_id, actions: null }
  const delegated = delegated_actions.flatMap((word) => (Object.hasOwn(delegatedKeys, word) ? delegatedKeys[word]! : []))
  const held = worked(stranger, [], '')
  const allowed: ReadonlySet<string> = new Set([...operatorKeys, ...delegated])
  return {
    comes_to: { ...held, tenant: { ...held.tenant, allowed }, project: { ...held.project, is_eligible } },
    ...stranger,
    home,
    platform_roles: [],
    platform_mismatch: null,
  }
}

/** Somebody who is bound to nothing and belongs nowhere. */
export const strangerRow = (actor_id: string, is_disabled = false): StandingRow => ({
  actor_id,
  is_disabled,
  platform_bindings: [],
  role_by_column: null,
  was_ever_bound: false,
  platform_role_source: null,
  tenant_state: null,
  is_tenant_member: false,
  tenant_roles: [],
  project_tenant_id: null,
  project_state: null,
  is_project_member: false,
  project_roles: [],
})

const nodeBounds: TokenBounds = { tenant_id: null, project_id: null, actions: null }
/** A node belongs to no tenant and has no role; what it may do, its class gives it. */
export const standingOfNode = (id: string): Standing => standingOfMachine(strangerRow(id), nodeBounds)
