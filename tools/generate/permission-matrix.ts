import { type Action, type ActionEntry, actions, overridePermission, type PermissionKey, type Tier } from '@gatehouse/server/authz/actions'
import { type BuiltinRoleName, builtinRoleNames, builtinRoles, permissionsOf, tierOf } from '@gatehouse/server/authz/catalogue'
import { type Document, tableOf } from './document.ts'

const tiers: readonly Tier[] = ['platform', 'tenant', 'project']

const isOwn = (role: BuiltinRoleName, key: PermissionKey): boolean => {
  const { baseline, extension } = builtinRoles[role]
  return [...baseline, ...extension].some((own) => own === key)
}

const cell = (role: BuiltinRoleName, key: PermissionKey): string => (!permissionsOf(role).has(key) ? '' : isOwn(role, key) ? '●' : '○')

const mark = (is: boolean): string => (is ? 'x' : '')

const rowOf = (roles: readonly BuiltinRoleName[], key: Action): string[] => {
  const { override_eligible, fit_for_service_accounts, is_read }: ActionEntry = actions[key]
  const marks = [override_eligible, fit_for_service_accounts, is_read].map(mark)
  return [`\`${key}\``, ...marks, ...roles.map((role) => cell(role, key))]
}

// A key that strayed into a role of another tier would be in no table below, and so in nobody's review.
const requireOwnTier = (role: BuiltinRoleName) => {
  for (const key of permissionsOf(role))
    if (key !== overridePermission && actions[key].tier !== tierOf(role)) throw new Error(`${role} holds ${key}, which is of another tier`)
}

const tableOfTier = (tier: Tier): string => {
  const roles = builtinRoleNames.filter((name) => tierOf(name) === tier)
  const keys = (Object.keys(actions) as Action[]).filter((key) => actions[key].tier === tier).sort()
  const reserved =
    tier === 'platform' ? [[`\`${overridePermission}\``, '', '', '', ...roles.map((role) => cell(role, overridePermission))]] : []
  const rows = [...reserved, ...keys.map((key) => rowOf(roles, key))]
  return `## ${tier}\n\n${tableOf(['action', 'o', 's', 'r', ...roles], rows)}\n`
}

const make = async (): Promise<string> => {
  builtinRoleNames.forEach(requireOwnTier)
  const head = [
    '# What each built-in role may do',
    '',
    'Written by `npm run generate`. ● its own, ○ through a role it includes. *o*: open to override; *s*: fit for service accounts;',
    '*r*: a read, still allowed in a suspended organization or an archived project. An action that no role has is given by',
    'override, by belonging there, by a relation to the resource, or by being a machine of some class; never by a built-in role.',
  ]
  return `${head.join('\n')}\n\n${tiers.map(tableOfTier).join('\n')}`
}

export const permissionMatrixDocument: Document = { path: 'docs/generated/permission-matrix.md', make }
