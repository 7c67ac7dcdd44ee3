import { ofOrganization, ofPlatform, ofProject, type PolicyScopeType } from '@gatehouse/contract/policies'
import type { Severity, Work } from '#ground/work/work.ts'
import { findOrganization, lockOrganization } from '#people/tenancy/organization-queries.ts'
import { findProject, lockProject } from '#people/tenancy/project-queries.ts'
import { type Authorized, authorityOf, authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'

/** Where policy is kept. `tenant_id` and `project_id` are as the tables have them; `org_id` is the tenant in either case. */
export interface PolicyScope {
  readonly scope_type: PolicyScopeType
  readonly org_id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** What a path says of the scope; with neither it is the platform. */
export interface ScopeParams {
  readonly org_id?: string
  readonly project_id?: string
}

export const thePlatform: PolicyScope = { scope_type: 'global', org_id: null, tenant_id: null, project_id: null }
const declared = { global: ofPlatform, tenant: ofOrganization, project: ofProject }

const typeOf = ({ org_id, project_id }: ScopeParams): PolicyScopeType => {
  if (project_id !== undefined) return 'project'
  return org_id === undefined ? 'global' : 'tenant'
}

const scopeOf = async (work: Work, { org_id, project_id }: ScopeParams, lock: boolean): Promise<PolicyScope | undefined> => {
  if (project_id !== undefined) {
    const project = await work.tx.maybe(lock ? lockProject(project_id) : findProject(project_id))
    return project && { scope_type: 'project', org_id: project.org_id, tenant_id: null, project_id: project.id }
  }
  if (org_id !== undefined) {
    const organization = await work.tx.maybe(lock ? lockOrganization(org_id) : findOrganization(org_id))
    return organization && { scope_type: 'tenant', org_id: organization.id, tenant_id: organization.id, project_id: null }
  }
  if (lock) await work.tx.one(lockPlatform())
  return thePlatform
}

const missing = { global: 'route_not_found', tenant: 'organization_not_found', project: 'project_not_found' } as const

/**
 * One value or constraint of a scope, before it is known whether there is one. A project's policy is judged by keys of its tenant, but
 * in the project: an archived one admits reads only, and its policy is written after it was restored, when somebody looks at it again.
 */
const kindOf = (type: Resource, params: ScopeParams, id: string | undefined): Kind<PolicyScope> => ({
  type,
  missing: missing[typeOf(params)],
  placeOf: ({ org_id, project_id }) => ({ id: id ?? project_id ?? org_id ?? 'platform', tenant_id: org_id, project_id, relations: [] }),
})
type Resource = 'policy_definition' | 'policy_value' | 'policy_constraint'

export const authorizeRead = async (work: Work, type: Resource, params: ScopeParams, id?: string) =>
  authorize(work, declared[typeOf(params)].read, kindOf(type, params, id), await scopeOf(work, params, false))

export const authorizeWrite = async (work: Work, type: Resource, params: ScopeParams, id?: string): Promise<WritableScope> =>
  authorize(work, declared[typeOf(params)].write, kindOf(type, params, id), await scopeOf(work, params, true))

/** The proof that this work may write policy there. */
export type WritableScope = Authorized<'platform.admin' | 'tenant.policy.write', PolicyScope>

/** What a record says of where; what reaches all tenants, or was done to one by the platform, stands out. */
export const recordedAt = (scope: WritableScope): { tenant_id: string | null; project_id: string | null; severity: Severity } => ({
  tenant_id: scope.org_id,
  project_id: scope.project_id,
  severity: scope.scope_type === 'global' || authorityOf(scope).is_override ? 'high' : 'info',
})
