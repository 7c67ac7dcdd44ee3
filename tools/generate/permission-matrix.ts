import { stagedKeys } from '@gatehouse/server/desk/decisions/staged-keys'
import {
  type Action,
  type ActionEntry,
  actions,
  overridePermission,
  type PermissionKey,
  type Tier,
} from '@gatehouse/server/rails/authz/actions'
import { type BuiltinRoleName, builtinRoleNames, builtinRoles, permissionsOf, tierOf } from '@gatehouse/server/rails/authz/catalogue'
import { type Document, tableOf } from './document.ts'

/** What may stand in a cell; none is empty, so that nothing can be forgotten. */
export const marks = { own: '●', included: '○', override: '◇', nothing: '–', other_tier: '·' } as const

const isOwn = (role: BuiltinRoleName, key: PermissionKey): boolean => {
  const { baseline, extension } = builtinRoles[role]
  return [...baseline, ...extension].some((own) => own === key)
}

const mayOverride = (role: BuiltinRoleName, key: PermissionKey): boolean => {
  if (key === overridePermission) return false
  const { override_eligible }: ActionEntry = actions[key]
  return override_eligible && permissionsOf(role).has(overridePermission)
}

const tierOfKey = (key: PermissionKey): Tier => (key === overridePermission ? 'platform' : actions[key].tier)

const cell = (role: BuiltinRoleName, key: PermissionKey): string => {
  if (permissionsOf(role).has(key)) return isOwn(role, key) ? marks.own : marks.included
  if (mayOverride(role, key)) return marks.override
  return tierOf(role) === tierOfKey(key) ? marks.nothing : marks.other_tier
}

const mark = (is: boolean): string => (is ? 'x' : '')

const rowOf = (key: PermissionKey): string[] => {
  const { fit_for_service_accounts = false, is_read = false }: Partial<ActionEntry> = key === overridePermission ? {} : actions[key]
  return [
    `\`${key}\``,
    tierOfKey(key),
    ...[fit_for_service_accounts, is_read].map(mark),
    ...builtinRoleNames.map((role) => cell(role, key)),
  ]
}

// A key that strayed into a role of another tier would look like any other of its row.
const requireOwnTier = (role: BuiltinRoleName) => {
  for (const key of permissionsOf(role))
    if (tierOfKey(key) !== tierOf(role)) throw new Error(`${role} holds ${key}, which is of another tier`)
}

const make = async (): Promise<string> => {
  builtinRoleNames.forEach(requireOwnTier)
  const head = [
    '# What each built-in role may do',
    '',
    'Written by `npm run generate`: every registered action, in the tier where it is judged, and each of the 13 built-in roles with all that it',
    `includes. ${marks.own} its own, ${marks.included} through a role it includes, ${marks.override} by override, ${marks.nothing} not by this role,`,
    `${marks.other_tier} not by any role of this tier. *s*: fit for service accounts; *r*: a read, still allowed in a suspended organization or`,
    `an archived project. What no role has is given by belonging there, by a relation to the resource, or by being a machine of some class.`,
  ]
  const tiers: readonly Tier[] = ['platform', 'tenant', 'project']
  const keys = tiers.flatMap((tier) => (Object.keys(actions) as Action[]).filter((key) => actions[key].tier === tier).sort())
  const whole: readonly PermissionKey[] = [overridePermission, ...keys]
  const staged = [
    '## Staged keys',
    '',
    'Keys of built-in roles that no operation asks about yet. The decision API answers for them to those who serve what they guard (RP-32).',
    '',
    ...Object.entries(stagedKeys).map(([key, by]) => `- \`${key}\`: by ${by}`),
  ]
  return `${head.join('\n')}\n\n${tableOf(['action', 'tier', 's', 'r', ...builtinRoleNames], whole.map(rowOf))}\n\n${staged.join('\n')}\n`
}

export const permissionMatrixDocument: Document = { path: 'docs/generated/permission-matrix.md', make }
