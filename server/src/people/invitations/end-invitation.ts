import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import { grantSeverity } from '#rails/authz/override-limits.ts'
import type { Verb } from '#rails/http/answer.ts'
import type { ScopeParams } from '../roles/role-scope.ts'
import { endInvitation as end, findInvitation } from './invitation-queries.ts'
import { authorizeToEnd, scopeOf } from './inviting.ts'

/** Whoever may invite may take any of them back, also those of others. */
export const endInvitation: Verb<ScopeParams & { readonly invitation_id: string }, unknown, { reason?: string }, unknown> = async (
  work,
  { params, body },
) => {
  const inviting = await authorizeToEnd(work, params, params.invitation_id)
  const scope = scopeOf(inviting)
  const invitation = await work.tx.maybe(findInvitation(scope, params.invitation_id))
  const reason = body.reason ?? 'withdrawn'
  const ended = invitation && (await work.tx.maybe(end(inviting, invitation.id, work.actor.id, reason, work.now)))
  if (!ended) throw new Problem('invitation_not_found')
  record(work, {
    action: 'invitation.end',
    resource_type: 'invitation',
    resource_id: invitation.id,
    tenant_id: scope.org_id,
    project_id: scope.project_id,
    severity: grantSeverity(authorityOf(inviting)),
    metadata: { email: invitation.email, role_name: invitation.role_name, reason },
  })
}
