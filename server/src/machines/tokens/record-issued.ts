import type { Actor, Trail } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { TokenRow } from './issuing-queries.ts'
import type { Bound } from './token-policy.ts'

/** What the record says of a token that was issued, and to whom: what its row says, and never the token. */
export const recordIssued = (trail: Trail, row: TokenRow, { type, id }: Actor, resource: Bound['resources'][number]): void => {
  const { parent_id, act, cnf_jkt, source_workflow_id, reason } = row
  record(
    { trail },
    {
      action: 'auth.token.issue',
      resource_type: 'token',
      resource_id: row.id,
      tenant_id: row.org_id,
      project_id: row.project_id,
      jti: row.id,
      metadata: {
        actor_type: type,
        actor_id: id,
        requested_actor_type: row.actor_type,
        requested_actor_id: row.actor_id,
        key_id: row.credential_id,
        ...(parent_id !== null && { parent_id }),
        ...(act && { act }),
        audience: row.audience,
        scope: row.scope.join(' '),
        resource_type: resource.type,
        resource_id: resource.id,
        expires_at: row.expires_at,
        credential_type: 'jwt_bearer',
        ...(cnf_jkt !== null && { cnf_jkt }),
        ...(source_workflow_id !== null && { source_workflow_id }),
        ...(reason !== null && { reason }),
      },
    },
  )
}
