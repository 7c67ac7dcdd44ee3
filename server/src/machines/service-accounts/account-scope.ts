import type { Project } from '@gatehouse/contract/projects'
import type { ServiceAccount } from '@gatehouse/contract/service-accounts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Severity, Work } from '#ground/work/work.ts'
import { findProject, lockProject } from '#people/tenancy/project-queries.ts'
import type { Action } from '#rails/authz/actions.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { grantSeverity } from '#rails/authz/override-limits.ts'
import { type AccountsOf, findAccount } from './account-queries.ts'

/** Judged by where it would be, before it is known whether it is there. */
const kindOf = (type: string, id: string | undefined): Kind<Project> => ({
  type,
  missing: 'project_not_found',
  placeOf: (project) => ({ id: id ?? project.id, tenant_id: project.org_id, project_id: project.id, relations: [] }),
})

interface AccountParams {
  readonly project_id: string
  readonly service_account_id: string
}

/** May look at the project's service accounts, or at one of them. */
export const authorizeToSee = async (work: Work, project_id: string, id?: string) =>
  authorize(work, 'project.service_account.read', kindOf('service_account', id), await work.tx.maybe(findProject(project_id)))

/** Locked with its organization: who has which role there, and who can act as whom, changes one after the other. */
export const authorizeToChange = async <A extends Action>(work: Work, action: A, project_id: string, id?: string) =>
  authorize(work, action, kindOf('service_account', id), await work.tx.maybe(lockProject(project_id)))

export const accountIn = async (work: Work, { id }: Pick<Project, 'id'>, service_account_id: string): Promise<ServiceAccount> => {
  const account = await work.tx.maybe(findAccount(id, service_account_id))
  if (!account) throw new Problem('service_account_not_found')
  return account
}

/** One account that is about to be changed, and its project with the proof. */
export const authorizeAccount = async <A extends Action>(work: Work, action: A, { project_id, service_account_id }: AccountParams) => {
  const project = await authorizeToChange(work, action, project_id, service_account_id)
  return { project, account: await accountIn(work, project, service_account_id) }
}

/** The key is asked about as well: a decision names what it is about. */
export const authorizeKey = async <A extends Action>(work: Work, action: A, params: AccountParams & { readonly key_id: string }) => {
  const { account } = await authorizeAccount(work, action, params)
  const found = await work.tx.maybe(findProject(params.project_id))
  return { account, project: await authorize(work, action, kindOf('service_account_key', params.key_id), found) }
}

/** What a record says of where; what the platform did in a tenant stands out in that tenant's own log. */
export const recordedIn = (project: AccountsOf<Action>): { tenant_id: string; project_id: string; severity: Severity } => ({
  tenant_id: project.org_id,
  project_id: project.id,
  severity: grantSeverity(authorityOf(project)),
})
