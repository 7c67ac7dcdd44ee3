import { Problem } from '#ground/kernel/problem.ts'
import type { Severity, Work } from '#ground/work/work.ts'
import type { Authority } from './authorize.ts'

/** Override gives nothing to the person who uses it: the only own way in is an elevation that somebody else approved. */
export const requireNoSelfGrant = (work: Work, { is_override }: Authority, grantee_user_id: string): void => {
  if (is_override && work.actor.type === 'user' && work.actor.id === grantee_user_id)
    throw new Problem('insufficient_permissions', {
      reason_code: 'permission_denied',
      detail: 'override_self_grant',
      because:
        'Platform override gives nothing to the person who uses it. Name another person, or ask an owner of the organization to invite you.',
    })
}

/** What the platform gave away in a tenant stands out in that tenant's own log. */
export const grantSeverity = ({ is_override }: Authority): Severity => (is_override ? 'high' : 'info')
