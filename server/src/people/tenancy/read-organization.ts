import type { readOrganization as Op } from '@gatehouse/contract/organizations'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { organizationKind } from './organization.ts'
import { findOrganization } from './organization-queries.ts'

export const readOrganization: Answering<typeof Op> = async (work, { params }) =>
  authorize(work, 'tenant.read', organizationKind, await work.tx.maybe(findOrganization(params.org_id)))
