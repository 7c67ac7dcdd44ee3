import type { ProblemCode } from '@gatehouse/contract/problems'
import type { PrincipalType } from '@gatehouse/contract/role-bindings'
import type { Severity, Work } from '#ground/work/work.ts'
import { type Authorized, authorityOf, authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { findOrganization, lockOrganization } from '../tenancy/organization-queries.ts'
import { findProject, lockProject } from '../tenancy/project-queries.ts'

/** Where roles are defined and bound: an organization, or a project of one. `id` is the scope's own. */
export interface RoleScope {
  readonly tier: 'tenant' | 'project'
  readonly id: string
  readonly org_id: string
  readonly project_id: string | null
}

/** What a path says of the scope. */
export interface ScopeParams {
  readonly org_id?: string
  readonly project_id?: string
}

const scopeOf = async (work: Work, { org_id, project_id }: ScopeParams, lock: boolean): Promise<RoleScope | undefined> => {
  if (project_id !== undefined) {
    const project = await work.tx.maybe(lock ? lockProject(project_id) : findProject(project_id))
    return project && { tier: 'project', id: project.id, org_id: project.org_id, project_id: project.id }
  }
  const organization = await work.tx.maybe(lock ? lockOrganization(org_id!) : findOrganization(org_id!))
  return organization && { tier: 'tenant', id: organization.id, org_id: organization.id, project_id: null }
}

const tierOf = ({ project_id }: ScopeParams) => (project_id === undefined ? 'tenant' : 'project')

/** Something of a scope, before it is known whether it is there: it is judged by where it would be. */
const kindOf = (type: string, params: ScopeParams, id: string | undefined): Kind<RoleScope> => ({
  type,
  missing: (params.project_id === undefined ? 'organization_not_found' : 'project_not_found') satisfies ProblemCode,
  placeOf: (scope) => ({ id: id ?? scope.id, tenant_id: scope.org_id, project_id: scope.project_id, relations: [] }),
})

type Power = 'read' | 'define' | 'assign'
type PowerAction<P extends Power> = `tenant.role.${P}` | `project.role.${P}`
export type ScopeFor<P extends Power> = Authorized<PowerAction<P>, RoleScope>

const authorizePower = async <P extends Power>(
  work: Work,
  power: P,
  type: string,
  params: ScopeParams,
  id: string | undefined,
  lock: boolean,
) => (await authorize(work, `${tierOf(params)}.role.${power}`, kindOf(type, params, id), await scopeOf(work, params, lock))) as ScopeFor<P>

export const authorizeRead = (work: Work, type: string, params: ScopeParams, id?: string) =>
  authorizePower(work, 'read', type, params, id, false)

/** Locked: whatever changes who has which role in an organization happens one after the other. */
export const authorizeDefine = (work: Work, params: ScopeParams, id?: string) => authorizePower(work, 'define', 'role', params, id, true)

/** The proof that roles may be given and taken in a scope: of anybody, or of its service accounts. */
export type AssignScope = ScopeFor<'assign'> | Authorized<'project.service_account.manage', RoleScope>

const ofServiceAccounts = ['project.role.assign', 'project.service_account.manage'] as const

/** Whoever manages a project's service accounts gives and takes their roles too; the ceiling is the same. */
export const authorizeAssign = async (
  work: Work,
  params: ScopeParams,
  id?: string,
  principal_type?: PrincipalType,
): Promise<AssignScope> => {
  if (principal_type !== 'service_account' || params.project_id === undefined)
    return authorizePower(work, 'assign', 'role_binding', params, id, true)
  return authorize(work, ofServiceAccounts, kindOf('role_binding', params, id), await scopeOf(work, params, true))
}

/** What a record says of where; what the platform did in a tenant stands out in that tenant's own log. */
export const recordedIn = (
  scope: ScopeFor<Power> | AssignScope,
  is_override = authorityOf(scope).is_override,
): { tenant_id: string; project_id: string | null; severity: Severity } => ({
  tenant_id: scope.org_id,
  project_id: scope.project_id,
  severity: is_override ? 'high' : 'info',
})
