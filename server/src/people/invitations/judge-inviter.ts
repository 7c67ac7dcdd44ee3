import type { Invitation } from '@gatehouse/contract/invitations'
import type { Organization } from '@gatehouse/contract/organizations'
import type { Project } from '@gatehouse/contract/projects'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Severity, Work } from '#ground/work/work.ts'
import { type Authority, authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import { asJudged } from '../roles/bind-role.ts'
import { insertProjectBinding, insertTenantBinding } from '../roles/binding-queries.ts'
import { requireWithinCeiling } from '../roles/ceiling.ts'
import { bindingToRole } from '../roles/role-binding-queries.ts'
import { findVersion, shareRole } from '../roles/role-queries.ts'
import type { RoleScope } from '../roles/role-scope.ts'
import { insertProjectMembership, insertTenantMembership, projectMember, tenantMembership } from '../tenancy/membership-queries.ts'
import { organizationKind } from '../tenancy/organization.ts'
import { projectKind } from '../tenancy/project.ts'
import { intoOrganization, intoProject, scopeOf } from './inviting.ts'

/** What the inviter may still give, and how it is given. */
interface Judged {
  readonly severity: Severity
  /** Which memberships begin. */
  readonly joined: readonly ('tenant' | 'project')[]
  readonly join: () => Promise<void>
}

/** The role as it was offered, if it can be given now; its version was fixed by the invitation. */
const offeredVersion = async (work: Work, scope: RoleScope, { role_id, version }: Invitation) => {
  const role = await work.tx.maybe(shareRole(scope, role_id, null))
  if (role?.state !== 'active') throw new Problem('role_not_assignable', { state: role?.state ?? 'deleted' })
  return asJudged(role, await work.tx.one(findVersion(role_id, version)))
}

const judgeCeiling = async (work: Work, authority: Authority, scope: RoleScope, invitation: Invitation, user_id: string) => {
  const version = await offeredVersion(work, scope, invitation)
  const judged = requireWithinCeiling(authority, scope.tier, version.permissions)
  requireNoSelfGrant(work, judged, user_id)
  // Who has come in by another way and has the role already gets nothing by this one.
  if (await work.tx.maybe(bindingToRole(scope, 'user', user_id, invitation.role_id))) throw new Problem('member_already_exists')
  return { version, authority: judged }
}

// A further role for somebody who is a member by now is assigned; inviting alone does not give it.

export const judgeForOrganization = async (
  work: Work,
  invitation: Invitation,
  organization: Organization,
  user_id: string,
): Promise<Judged> => {
  const isMember = (await work.tx.maybe(tenantMembership(organization.id, user_id))) !== undefined
  const keys = isMember ? (['tenant.role.assign'] as const) : intoOrganization
  const inviting = await authorize(work, keys, organizationKind, organization)
  const { version, authority } = await judgeCeiling(work, authorityOf(inviting), scopeOf(organization), invitation, user_id)
  return {
    severity: grantSeverity(authority),
    joined: isMember ? [] : ['tenant'],
    join: async () => {
      if (!isMember) await work.tx.one(insertTenantMembership(inviting, newId('membership'), user_id, work.actor.id, work.now))
      await work.tx.one(insertTenantBinding(inviting, newId('binding'), user_id, version.id, work.actor.id, work.now))
    },
  }
}

export const judgeForProject = async (
  work: Work,
  invitation: Invitation,
  organization: Organization,
  project: Project,
  user_id: string,
): Promise<Judged> => {
  const isTenantMember = (await work.tx.maybe(tenantMembership(organization.id, user_id))) !== undefined
  const isMember = (await work.tx.maybe(projectMember(project.id, user_id))) !== undefined
  const keys = isMember ? (['project.role.assign'] as const) : intoProject
  const inviting = await authorize(work, keys, projectKind, project)
  const opening = isTenantMember ? null : await authorize(work, 'tenant.user.invite', organizationKind, organization)
  const own = authorityOf(inviting)
  const both = { ...own, is_override: own.is_override || (opening !== null && authorityOf(opening).is_override) }
  const { version, authority } = await judgeCeiling(work, both, scopeOf(project), invitation, user_id)
  return {
    severity: grantSeverity(authority),
    joined: [...(opening ? (['tenant'] as const) : []), ...(isMember ? [] : (['project'] as const))],
    join: async () => {
      // Into the organization without a role: what he may do there was not offered.
      if (opening) await work.tx.one(insertTenantMembership(opening, newId('membership'), user_id, work.actor.id, work.now))
      if (!isMember) await work.tx.one(insertProjectMembership(inviting, newId('membership'), user_id, work.actor.id, work.now))
      await work.tx.one(insertProjectBinding(inviting, newId('binding'), user_id, version.id, work.actor.id, work.now))
    },
  }
}
