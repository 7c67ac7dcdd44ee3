import type { createOperatorCredential as Op } from '@gatehouse/contract/operator-credentials'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { hashOf } from '#machines/service-accounts/key-secret.ts'
import { requireWithinCeiling } from '#people/roles/ceiling.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import { readStandingsOf } from '#rails/authz/read-standings.ts'
import { heldAt } from '#rails/authz/standing.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { authorizeToManage } from '../shared-runtimes/runtime-scope.ts'
import { type Managing, type RuntimeRow, recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { newOperatorSecret } from './operator-credential.ts'
import { countLiveOperatorKeys, findOperatorKey, insertOperatorKey } from './operator-credential-queries.ts'

/**
 * Whoever has the secret can be the operator: all that it can do must be his to give. Override does not mint credentials, so it does not
 * stand in for that.
 */
const requireAuthority = async (work: Work, organization: Managing, { id }: RuntimeRow): Promise<void> => {
  const place = { actor_id: id, tenant_id: organization.id, project_id: null }
  const [standing] = await readStandingsOf(work.tx, 'shared_runtime_operator', [place])
  requireWithinCeiling({ ...authorityOf(organization), may_override: false }, 'tenant', heldAt(standing!, work.now).tenant.allowed)
}

/** A new credential with a secret that nobody will see again, beside those that there are. */
export const createOperatorCredential: Answering<typeof Op> = async (work, { params, body: { expires_at = null, reason = null } }) => {
  const { organization, runtime } = await authorizeToManage(work, params, 'operator_credential')
  if (expires_at !== null && expires_at <= work.now)
    throw new Problem('validation_error', [{ in: 'body', field: 'expires_at', message: 'must lie in the future' }])
  await requireAuthority(work, organization, runtime)
  if (runtime.state === 'disabled') throw new Problem('state_conflict', { state: runtime.state })
  // The runtime is locked: nobody counts at the same time.
  const { count } = await work.tx.one(countLiveOperatorKeys(runtime.id))
  await requireRoom(work.tx, 'auth.max_operator_credentials_per_runtime', count, { tenant_id: organization.id, project_id: null })
  const id = newId('operator credential')
  const secret = newOperatorSecret()
  const made = { id, shared_runtime_id: runtime.id, ...hashOf(secret), expires_at }
  await work.tx.one(insertOperatorKey(organization, made, work.actor.id, work.now))
  record(work, {
    action: 'shared_runtime.operator_credential.create',
    resource_type: 'operator_credential',
    resource_id: id,
    ...recordedIn(organization),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, expires_at, reason },
  })
  const key = await work.tx.one(findOperatorKey(runtime.id, id))
  return { ...key, client_secret: secret.reveal(), credential_session_id: id }
}
