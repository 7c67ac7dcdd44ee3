import { createHash } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import type { UpgradeChange, UpgradePreview } from '@gatehouse/contract/role-upgrades'
import type { Role, RoleVersion } from '@gatehouse/contract/roles'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { type Action, actions } from '#rails/authz/actions.ts'
import { isActive, permissionsIn } from '#rails/authz/standing.ts'
import { countOnVersion, type HeldRole, heldBesideVersion } from './role-binding-queries.ts'
import { findVersion } from './role-queries.ts'
import type { RoleScope } from './role-scope.ts'

/** More than this is not moved at once: nobody could read what it would do. */
const most = 10_000

export interface Between {
  readonly from_version: number
  readonly to_version: number
}

/** What an upgrade would do, computed alike for whoever looks and for whoever does it. */
export interface UpgradePlan {
  readonly preview: UpgradePreview
  readonly from: RoleVersion
  readonly to: RoleVersion
}

const without = (keys: ReadonlySet<string>, others: ReadonlySet<string>): string[] => [...keys].filter((key) => !others.has(key)).sort()

/** The change of one principal: his roles together before it, and together after it. */
const changeOf = ({ tier }: RoleScope, roles: readonly HeldRole[], to: RoleVersion, role_id: string, now: string): UpgradeChange => {
  const active = roles.filter((role) => isActive(role, now))
  const union = (held: readonly HeldRole[]) => new Set(held.flatMap((role) => [...permissionsIn(tier, role)]))
  const moving = roles.find((role) => role.role_id === role_id)!
  const before = union(active)
  const after = union(active.map((role) => (role === moving ? { ...role, permissions: to.permissions } : role)))
  return {
    binding_id: moving.binding_id as UpgradeChange['binding_id'],
    principal_type: moving.principal_type,
    principal_id: moving.principal_id,
    gains: without(after, before),
    loses: without(before, after),
  }
}

/** As many as a refusal names. */
const most_named = 50

/**
 * A service account holds only what is fit for it, whichever version it comes by, and only of a role that is for them. The refusal names
 * the bindings that stand in the way: they can be ended, and the upgrade tried again.
 */
const requireFit = (changes: readonly UpgradeChange[], to: RoleVersion, { is_assignable_to_service_accounts }: Role): void => {
  const machines = changes.filter(({ principal_type }) => principal_type === 'service_account')
  if (machines.length === 0) return
  const unfit = to.permissions.filter((key) => !actions[key as Action]?.fit_for_service_accounts)
  if (unfit.length === 0 && is_assignable_to_service_accounts) return
  throw new Problem('role_not_assignable', {
    detail: unfit.length > 0 ? 'unfit_for_service_accounts' : 'not_assignable_to_service_accounts',
    permissions: unfit,
    blocked_by: machines
      .slice(0, most_named)
      .map(({ binding_id, principal_type, principal_id }) => ({ binding_id, principal_type, principal_id })),
    count: machines.length,
  })
}

const requireUpgradable = (role: Role | undefined): Role => {
  if (!role) throw new Problem('role_not_found')
  if (role.is_builtin) throw new Problem('role_immutable')
  if (role.state !== 'active') throw new Problem('role_not_assignable', { detail: 'role_disabled', state: role.state })
  return role
}

export const planUpgrade = async (
  work: Work,
  scope: RoleScope,
  found: Role | undefined,
  { from_version, to_version }: Between,
): Promise<UpgradePlan> => {
  if (from_version === to_version)
    throw new Problem('validation_error', [{ in: 'body', field: 'to_version', message: 'must be another version' }])
  const role = requireUpgradable(found)
  const from = await work.tx.maybe(findVersion(role.id, from_version))
  const to = await work.tx.maybe(findVersion(role.id, to_version))
  if (!from || !to) throw new Problem('role_not_found', { version: from ? to_version : from_version })
  const { count } = await work.tx.one(countOnVersion(scope, from.id))
  if (count > most) throw new Problem('state_conflict', { detail: 'too_many_bindings', count, limit: most })

  const held = await work.tx.many(heldBesideVersion(scope, from.id))
  const byPrincipal = Map.groupBy(held, ({ principal_type, principal_id }) => `${principal_type} ${principal_id}`)
  const changes = [...byPrincipal.values()]
    .map((roles) => changeOf(scope, roles, to, role.id, work.now))
    .sort((a, b) => (a.binding_id < b.binding_id ? -1 : 1))
  requireFit(changes, to, role)

  const shown = { role_id: role.id, from_version, to_version, bindings: changes.length, changes }
  // The newest version belongs to it: who decided to move to the newest must hear that there is a newer one.
  const restsOn = { ...shown, from_version_id: from.id, to_version_id: to.id, newest_version: role.version, ends: endsOf(held, from.id) }
  const preview_hash = createHash('sha256').update(canonicalJson(restsOn)).digest('hex')
  return { preview: { ...shown, preview_hash }, from, to }
}

const endsOf = (held: readonly HeldRole[], role_version_id: string) =>
  held.filter((role) => role.role_version_id === role_version_id).map(({ expires_at }) => expires_at)
