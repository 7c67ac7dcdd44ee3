import type { Organization } from '@gatehouse/contract/organizations'
import type { Kind } from '#rails/authz/kind.ts'

export const organizationKind: Kind<Organization> = {
  type: 'organization',
  missing: 'organization_not_found',
  placeOf: ({ id }) => ({ id, tenant_id: id, project_id: null, relations: [] }),
}

/** A person as a member of an organization, before it is known whether he is one: `self` may always leave. */
export const organizationMemberKind: Kind<Organization & { user_id: string }> = {
  type: 'tenant_membership',
  missing: 'organization_not_found',
  placeOf: ({ id, user_id }, actor) => ({
    id: user_id,
    tenant_id: id,
    project_id: null,
    relations: actor.type === 'user' && actor.id === user_id ? ['self'] : [],
  }),
}
