import { auditTrailRoutes } from './audit-trail/audit-trail-routes.ts'
import type { VerifyRecord } from './audit-trail/verify-audit-logs.ts'
import { type EnvelopeColumn, installationEnvelopes } from './installation/rewrap.ts'
import type { UserDisabling } from './principals/disable-user.ts'
import { principalRoutes } from './principals/principal-routes.ts'
import { endBindings } from './roles/end-bindings.ts'
import { bindFirstProjectOwner, bindFirstTenantOwner } from './roles/found-owners.ts'
import { requireAnotherSuperadmin } from './roles/last-superadmin.ts'
import { roleRoutes } from './roles/role-routes.ts'
import type { TenancySubscribers } from './tenancy/subscribers.ts'
import { tenancyRoutes } from './tenancy/tenancy-routes.ts'

/** Where the end or beginning of one thing reaches rooms above it, in the same transaction. */
export const tenancySubscribers: TenancySubscribers = {
  onOrganizationFounded: [bindFirstTenantOwner],
  onProjectFounded: [bindFirstProjectOwner],
  onMembershipEnded: [endBindings],
}
const onUserDisabling: UserDisabling = [requireAnotherSuperadmin]

/** What some verbs need that lives as long as the process. */
export interface Parts {
  readonly verify: VerifyRecord
}

/** Every operation with the verb that answers it. */
export const answersWith = ({ verify }: Parts) => [
  ...principalRoutes(onUserDisabling),
  ...tenancyRoutes(tenancySubscribers),
  ...roleRoutes,
  ...auditTrailRoutes(verify),
]

/** Every column that holds sealed secrets: what re-wrapping must reach. */
export const envelopeColumns: readonly EnvelopeColumn[] = [installationEnvelopes]
