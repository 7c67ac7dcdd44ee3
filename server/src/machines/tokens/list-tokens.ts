import type { IssuedToken, listProjectTokens as OfProject, listRuntimeTokens as OfRuntime } from '@gatehouse/contract/tokens'
import { Problem } from '#ground/kernel/problem.ts'
import type { AuditEvent, Work } from '#ground/work/work.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { projectKind } from '#people/tenancy/project.ts'
import { findProject } from '#people/tenancy/project-queries.ts'
import { record } from '#rails/audit/record.ts'
import { type Authority, authorityOf, authorize } from '#rails/authz/authorize.ts'
import { type Answering, type Listed, listed, type Slice } from '#rails/http/answer.ts'
import { runtimesOf } from '#runtimes/shared-runtimes/runtime-scope.ts'
import { findRuntime } from '#runtimes/shared-runtimes/shared-runtime-queries.ts'
import { type TokenRecord, withLineage } from './lineage.ts'
import { endOf } from './live-token.ts'
import { type ListedToken, tokensOfProject, tokensOfRuntime } from './token-list-queries.ts'

type WithLineage = TokenRecord<ListedToken>

const stateOf = (token: WithLineage, now: string): IssuedToken['state'] => {
  if (now >= token.expires_at) return 'expired'
  return token.is_key_live && endOf(token, token.installation_epoch, now) === undefined ? 'live' : 'ended'
}

const shown = (token: WithLineage, now: string): IssuedToken => ({
  id: token.id as IssuedToken['id'],
  actor_type: token.actor_type,
  actor_id: token.actor_id as IssuedToken['actor_id'],
  credential_id: token.credential_id as IssuedToken['credential_id'],
  parent_id: token.parent_id as IssuedToken['parent_id'],
  acting_id: (token.act?.sub ?? null) as IssuedToken['acting_id'],
  project_id: token.project_id as IssuedToken['project_id'],
  audience: token.audience,
  scope: token.scope.join(' '),
  issued_at: token.issued_at,
  expires_at: token.expires_at,
  state: stateOf(token, now),
  revoked_at: token.revoked_at,
  revoke_reason: token.revoke_reason,
})

/** What the platform reads in a tenant stands out in that tenant's own log. */
const severityOf = ({ action, is_override }: Authority) => (is_override || action === 'platform.admin' ? 'high' : 'info')

type Where = Pick<AuditEvent, 'action' | 'resource_type' | 'resource_id' | 'tenant_id' | 'project_id'>

/** A page of those that were read, with the record that somebody read them. */
const told = async (
  work: Work,
  tokens: readonly ListedToken[],
  slice: Slice,
  by: Authority,
  where: Where,
): Promise<Listed<IssuedToken>> => {
  const { items, after } = listed(tokens, slice, ({ id }) => id)
  record(work, { ...where, severity: severityOf(by), metadata: { rows: items.length } })
  return { items: (await withLineage(work.tx, items)).map((token) => shown(token, work.now)), after }
}

export const listProjectTokens: Answering<typeof OfProject> = async (work, { params, slice }) => {
  const alternatives = ['project.service_account.manage', 'platform.admin'] as const
  const project = await authorize(work, alternatives, projectKind, await work.tx.maybe(findProject(params.project_id)))
  const tokens = await work.tx.many(tokensOfProject(project, slice.after, slice.limit + 1))
  return told(work, tokens, slice, authorityOf(project), {
    action: 'auth.token.list_of_project',
    resource_type: 'project',
    resource_id: project.id,
    tenant_id: project.org_id,
    project_id: project.id,
  })
}

export const listRuntimeTokens: Answering<typeof OfRuntime> = async (work, { params: { org_id, shared_runtime_id }, slice }) => {
  const alternatives = ['tenant.shared_runtime.manage', 'platform.admin'] as const
  const found = await work.tx.maybe(findOrganization(org_id))
  const organization = await authorize(work, alternatives, runtimesOf({ shared_runtime_id }), found)
  if (!(await work.tx.maybe(findRuntime(organization.id, shared_runtime_id)))) throw new Problem('shared_runtime_not_found')
  const tokens = await work.tx.many(tokensOfRuntime(organization, shared_runtime_id, slice.after, slice.limit + 1))
  return told(work, tokens, slice, authorityOf(organization), {
    action: 'auth.token.list_of_shared_runtime',
    resource_type: 'shared_runtime',
    resource_id: shared_runtime_id,
    tenant_id: organization.id,
    project_id: null,
  })
}
