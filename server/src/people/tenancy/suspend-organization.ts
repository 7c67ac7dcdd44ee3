import type { Organization, resumeOrganization as Resume, suspendOrganization as Suspend } from '@gatehouse/contract/organizations'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { organizationKind } from './organization.ts'
import { lockOrganization, setOrganizationState } from './organization-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

type Moved = Pick<TenancySubscribers, 'onOrganizationMoved'>

const moveTo = async (
  { onOrganizationMoved }: Moved,
  work: Work,
  org_id: string,
  state: Organization['state'],
  action: string,
  reason: string,
): Promise<Organization> => {
  const organization = await authorize(work, 'platform.admin', organizationKind, await work.tx.maybe(lockOrganization(org_id)))
  if (organization.state === state) throw new Problem('state_conflict', { state })
  const moved = await work.tx.one(setOrganizationState(organization, state))
  record(work, {
    action,
    resource_type: 'organization',
    resource_id: organization.id,
    tenant_id: organization.id,
    severity: 'high',
    metadata: { reason },
  })
  for (const follow of onOrganizationMoved) await follow(work, moved, reason)
  return moved
}

export const suspendOrganization =
  (subscribers: Moved): Answering<typeof Suspend> =>
  (work, { params, body }) =>
    moveTo(subscribers, work, params.org_id, 'suspended', 'organization.suspend', body.reason)

export const resumeOrganization =
  (subscribers: Moved): Answering<typeof Resume> =>
  (work, { params, body }) =>
    moveTo(subscribers, work, params.org_id, 'active', 'organization.resume', body.reason)
