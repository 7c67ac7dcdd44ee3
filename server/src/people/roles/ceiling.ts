import { Problem } from '#ground/kernel/problem.ts'
import type { Authority } from '#rails/authz/authorize.ts'

/**
 * Nobody gives what they do not hold: either the whole tier is within the grantor's authority, or every permission of the role
 * already is in their own effective set.
 */
const isWithinOwn = ({ facts }: Pick<Authority, 'facts'>, tier: 'tenant' | 'project', permissions: Iterable<string>): boolean => {
  const { allowed } = facts[tier]
  return allowed.has(`${tier}.role.assign_any`) || [...permissions].every((key) => allowed.has(key))
}

/**
 * Throws where the role is beyond the grantor. Override satisfies the ceiling, but a grant that needed it is one made by override:
 * the authority that is returned says so, and gives nothing to its own user.
 */
export const requireWithinCeiling = (authority: Authority, tier: 'tenant' | 'project', permissions: Iterable<string>): Authority => {
  if (isWithinOwn(authority, tier, permissions)) return authority
  if (authority.may_override) return { ...authority, is_override: true }
  const { allowed } = authority.facts[tier]
  const beyond = [...permissions].filter((key) => !allowed.has(key)).sort()
  throw new Problem('insufficient_permissions', {
    reason_code: 'permission_denied',
    action: beyond[0]!,
    detail: 'assignment_ceiling',
    permissions: beyond,
    because: 'You can give only what you hold yourself, and this gives more. Ask an owner.',
  })
}
