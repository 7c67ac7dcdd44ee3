import type { PlatformMismatch } from '#ground/work/work.ts'
import { parsePolicyValue } from '../policies/policy-value.ts'
import { ownerRoleOf, roleIdOf } from './catalogue.ts'
import { type BoundRole, platformRoleSource } from './standing-queries.ts'

/** The two places a platform role can stand in, and which of them is heard. */
interface BothSources {
  readonly platform_role_source: unknown
  readonly platform_bindings: readonly BoundRole[]
  /** What the old column of users stands for; nothing but the highest role can come from it. */
  readonly role_by_column: BoundRole | null
  readonly was_ever_bound: boolean
}

const sourceOf = ({ platform_role_source: found }: BothSources) => parsePolicyValue(platformRoleSource, found)

/** The platform roles that count. Where it cannot be read which source does, none counts: either might have been ended. */
export const platformRolesOf = (both: BothSources): readonly BoundRole[] => {
  const byColumn = both.role_by_column ? [both.role_by_column] : []
  switch (sourceOf(both)) {
    case 'users_role':
      return byColumn
    case 'transition':
      return both.was_ever_bound ? both.platform_bindings : byColumn
    case 'bindings':
      return both.platform_bindings
    default:
      return []
  }
}

const superadmin = roleIdOf(ownerRoleOf.platform)

/** Where the column and the bindings disagree on who is a superadmin, or nobody can say which of them is heard. */
export const mismatchOf = (both: BothSources): PlatformMismatch | null => {
  const { platform_bindings, role_by_column } = both
  const source = sourceOf(both) ?? null
  const isAgreed = platform_bindings.some(({ role_id }) => role_id === superadmin) === (role_by_column !== null)
  // A column that alone has something to say does not agree with the bindings anyway.
  const isHeard = source !== null || platform_bindings.length === 0
  if (isAgreed && isHeard) return null
  return { source, users_role: role_by_column ? 'admin' : 'user', bound_roles: platform_bindings.map(({ name }) => name) }
}
