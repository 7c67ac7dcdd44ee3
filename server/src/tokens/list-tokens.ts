import type { IssuedToken, listProjectTokens as Op } from '@gatehouse/contract/tokens'
import { record } from '../audit/record.ts'
import { authorityOf, authorize } from '../authz/authorize.ts'
import { type Answering, listed } from '../http/answer.ts'
import { projectKind } from '../tenancy/project.ts'
import { findProject } from '../tenancy/project-queries.ts'
import { type TokenRecord, withLineage } from './lineage.ts'
import { endOf } from './live-token.ts'
import { type ListedToken, tokensOfProject } from './token-list-queries.ts'

type Listed = TokenRecord<ListedToken>

const stateOf = (token: Listed, now: string): IssuedToken['state'] => {
  if (now >= token.expires_at) return 'expired'
  return token.is_key_live && endOf(token, token.installation_epoch, now) === undefined ? 'live' : 'ended'
}

const shown = (token: Listed, now: string): IssuedToken => ({
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

export const listProjectTokens: Answering<typeof Op> = async (work, { params, slice }) => {
  const alternatives = ['project.service_account.manage', 'platform.admin'] as const
  const project = await authorize(work, alternatives, projectKind, await work.tx.maybe(findProject(params.project_id)))
  const tokens = await work.tx.many(tokensOfProject(project, slice.after, slice.limit + 1))
  const { items, after } = listed(tokens, slice, ({ id }) => id)
  const { action, is_override } = authorityOf(project)
  record(work, {
    action: 'auth.token.list_of_project',
    resource_type: 'project',
    resource_id: project.id,
    tenant_id: project.org_id,
    project_id: project.id,
    // What the platform reads in a tenant stands out in that tenant's own log.
    severity: is_override || action === 'platform.admin' ? 'high' : 'info',
    metadata: { rows: items.length },
  })
  return { items: (await withLineage(work.tx, items)).map((token) => shown(token, work.now)), after }
}
