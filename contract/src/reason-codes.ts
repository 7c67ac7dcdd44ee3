/** Why a decision denies. */
export const reasonCodes = [
  'permission_denied',
  'membership_missing',
  'scope_mismatch',
  'policy_constraint_denied',
  'role_disabled',
  'actor_disabled',
] as const
