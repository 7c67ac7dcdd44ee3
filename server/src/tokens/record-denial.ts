import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import type { Database } from '../db/database.ts'
import { type Actor, newTrail } from '../work/work.ts'
import { normaliseScope } from './normalise-scope.ts'
import type { TokenRequest } from './token-policy.ts'

/** Whose credential it was, where that is known from the record. */
export interface Refused {
  readonly actor: Actor
  readonly key_id: string
  readonly org_id: string
  readonly project_id: string | null
  readonly resource: { readonly type: string; readonly id: string }
}

export interface Denial {
  readonly reason_code: string
  /** In more detail than the caller is told. */
  readonly why: string
  /**
   * What was asked for. Of audience and scope only words of ours are recorded: what else a caller writes there may be a secret that took a
   * wrong turn. His reason and his workflow are meant for the record.
   */
  readonly request: TokenRequest & { readonly source_workflow_id?: string; readonly reason?: string }
  readonly allowed_audiences: readonly string[]
  readonly decision_id?: string
  /** How many wrong secrets the key has had by now. */
  readonly attempts?: number
}

const known = <T>(value: T | undefined, values: readonly T[]): T | null => (value !== undefined && values.includes(value) ? value : null)

/** Writes that a token was refused into the tenant's own log, in a transaction of its own. */
export const recordDenial = async (
  { database, append }: { readonly database: Database; readonly append: Append },
  { correlation_id, source_ip }: { readonly correlation_id: string; readonly source_ip: string },
  { actor, key_id, org_id, project_id, resource }: Refused,
  { reason_code, why, request, allowed_audiences, decision_id, attempts }: Denial,
): Promise<void> => {
  await database.transaction('write', async (tx) => {
    const work = { actor, correlation_id, source_ip, now: tx.now, tx, trail: newTrail() }
    record(work, {
      action: 'auth.token.deny',
      resource_type: actor.type,
      resource_id: actor.id,
      tenant_id: org_id,
      project_id,
      result: 'denied',
      reason_code,
      severity: 'warning',
      metadata: {
        why,
        actor_type: actor.type,
        actor_id: actor.id,
        requested_actor_type: request.actor_type ?? actor.type,
        requested_actor_id: request.actor_id ?? actor.id,
        key_id,
        audience: known(request.audience, allowed_audiences),
        scope: request.scope === undefined ? null : normaliseScope(request.scope).join(' '),
        resource_type: resource.type,
        resource_id: resource.id,
        expires_at: null,
        credential_type: 'jwt_bearer',
        ...(request.source_workflow_id === undefined ? {} : { source_workflow_id: request.source_workflow_id }),
        ...(request.reason === undefined ? {} : { reason: request.reason }),
        ...(decision_id === undefined ? {} : { decision_id }),
        ...(attempts === undefined ? {} : { attempts }),
      },
    })
    await append(work)
  })
}
