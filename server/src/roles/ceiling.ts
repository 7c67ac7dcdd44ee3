import type { Authority } from '../authz/authorize.ts'
import { Problem } from '../kernel/problem.ts'

/**
 * Nobody gives what he does not hold: either the whole tier is within the grantor's authority, or every permission of the role
 * already is in his own effective set. Override satisfies it; that it gives nothing to its own user is checked apart.
 */
export const isWithinCeiling = (
  { facts, is_override }: Pick<Authority, 'facts' | 'is_override'>,
  tier: 'tenant' | 'project',
  permissions: Iterable<string>,
): boolean => {
  if (is_override) return true
  const { allowed } = facts[tier]
  return allowed.has(`${tier}.role.assign_any`) || [...permissions].every((key) => allowed.has(key))
}

export const requireWithinCeiling = (authority: Authority, tier: 'tenant' | 'project', permissions: Iterable<string>): void => {
  if (!isWithinCeiling(authority, tier, permissions))
    throw new Problem('insufficient_permissions', { reason_code: 'permission_denied', detail: 'assignment_ceiling' })
}
