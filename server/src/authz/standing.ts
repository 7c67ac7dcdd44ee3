import { LRUCache } from 'lru-cache'
import type { Reader } from '../db/database.ts'
import type { Source } from '../epochs/fresh.ts'
import { isGrantable, type Tier } from './actions.ts'
import { type BuiltinRoleName, highestPlatformRole, isBuiltinRole, permissionsOf, tierOf } from './catalogue.ts'
import type { DecisionInput, Grants } from './decide.ts'
import { type BoundRole, type StandingRow, standingsOf } from './standing-queries.ts'

/** How one person stands in one place: what was read, and what it comes to. */
export interface Standing extends StandingRow {
  /** What the roles come to at an instant: bindings end by themselves. */
  grantsAt(now: string): TierGrants
  /** The highest platform role that counts, for the record. */
  readonly platform_role: BuiltinRoleName
}
export type TierGrants = Pick<DecisionInput, Tier>

export interface StandingKey {
  readonly user_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** A custom role holds only what may be given at its own tier: what was forced into the table beyond that is not heard. */
export const permissionsIn = (tier: Tier, role: BoundRole): ReadonlySet<string> => {
  if (role.is_builtin) return isBuiltinRole(role.name) && tierOf(role.name) === tier ? permissionsOf(role.name) : nothing
  return new Set(role.permissions.filter((key) => isGrantable(key, tier)))
}
const nothing: ReadonlySet<string> = new Set()

export const isLive = ({ expires_at }: BoundRole, now: string): boolean => expires_at === null || now < expires_at

// One role is by far the most common case, and its set is shared by all who have it.
const union = (sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  sets.length < 2 ? (sets[0] ?? nothing) : new Set(sets.flatMap((set) => [...set]))

const grantsIn = (tier: Tier, roles: readonly BoundRole[]): Grants => {
  // An unknown state is not an active one.
  const [active, disabled] = [true, false].map((wanted) => roles.filter(({ state }) => (state === 'active') === wanted))
  return {
    allowed: union(active!.map((role) => permissionsIn(tier, role))),
    by_disabled: union(disabled!.map((role) => permissionsIn(tier, role))),
  }
}

const isNot = (state: string, found: string | null) => found !== null && found !== state

const worked = (row: StandingRow, now: string): TierGrants => ({
  platform: grantsIn('platform', row.platform_roles),
  tenant: {
    ...grantsIn(
      'tenant',
      row.tenant_roles.filter((role) => isLive(role, now)),
    ),
    is_member: row.is_tenant_member,
    is_suspended: isNot('active', row.tenant_state),
  },
  project: {
    ...grantsIn(
      'project',
      row.project_roles.filter((role) => isLive(role, now)),
    ),
    // A project membership without one of the tenant that owns it cannot exist; if it did, it would count for nothing.
    is_member: row.is_project_member && row.is_tenant_member,
    is_archived: isNot('active', row.project_state),
  },
})

/** Most people have one of a few combinations of roles: what these come to is worked out once and held once. */
const shared = new LRUCache<string, TierGrants>({ max: 10_000 })
const named = (roles: readonly BoundRole[]) => roles.map(({ role_version_id, state, name }) => `${role_version_id} ${state} ${name}`).join()
const combinationOf = (row: StandingRow): string =>
  JSON.stringify([
    named(row.platform_roles),
    [row.tenant_state, row.is_tenant_member, named(row.tenant_roles)],
    [row.project_state, row.is_project_member, named(row.project_roles)],
  ])

export const standingOf = (row: StandingRow): Standing => {
  const platform_role = highestPlatformRole(row.platform_roles.filter(({ state }) => state === 'active').map(({ name }) => name))
  const ends = [...row.tenant_roles, ...row.project_roles].some(({ expires_at }) => expires_at !== null)
  if (ends) return { ...row, platform_role, grantsAt: (now) => worked(row, now) }
  // Nothing of it ends: it can be said once for all time.
  const combination = combinationOf(row)
  const always = shared.get(combination) ?? worked(row, '')
  shared.set(combination, always)
  return { ...row, platform_role, grantsAt: () => always }
}

/** In the order of the keys; undefined for somebody unknown. */
export const readStandings = async (
  reader: Pick<Reader, 'many'>,
  keys: readonly StandingKey[],
): Promise<readonly (Standing | undefined)[]> => {
  const rows = await reader.many(
    standingsOf(
      keys.map(({ user_id }) => user_id),
      keys.map(({ tenant_id }) => tenant_id),
      keys.map(({ project_id }) => project_id),
    ),
  )
  const standings: (Standing | undefined)[] = keys.map(() => undefined)
  for (const { n, ...row } of rows) standings[n - 1] = standingOf(row)
  return standings
}

export const standings: Source<StandingKey, Standing> = {
  name: 'standing',
  textOf: ({ user_id, tenant_id, project_id }) => `${user_id} ${tenant_id} ${project_id}`,
  tenantOf: ({ tenant_id }) => tenant_id,
  load: readStandings,
}
