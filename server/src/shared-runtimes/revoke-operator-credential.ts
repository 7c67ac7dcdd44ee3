import type { revokeOperatorCredential as Op } from '@gatehouse/contract/operator-credentials'
import { record } from '../audit/record.ts'
import type { Answering } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { findOperatorKey, revokeOperatorKey, revokeOperatorKeysOf } from './operator-credential-queries.ts'
import { authorizeToManage } from './runtime-scope.ts'
import { type RuntimeSubscribers, recordedIn } from './shared-runtime.ts'

export const revokeOperatorCredential: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { organization, runtime } = await authorizeToManage(work, params, 'operator_credential', params.key_id)
  const key = await work.tx.maybe(findOperatorKey(runtime.id, params.key_id))
  if (!key) throw new Problem('operator_credential_not_found')
  // One that has run out can still be revoked: its tokens may live longer than it did.
  if (key.state === 'revoked') throw new Problem('state_conflict', { state: key.state })
  await work.tx.one(revokeOperatorKey(organization, key.key_id, work.actor.id, reason, work.now))
  record(work, {
    action: 'shared_runtime.operator_credential.revoke',
    resource_type: 'operator_credential',
    resource_id: key.key_id,
    ...recordedIn(organization),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, reason },
  })
}

/** With its runtime each of them ends; that the runtime did is recorded by who deleted it. */
export const endCredentialsOfRuntime: RuntimeSubscribers['onRuntimeDeleted'][number] = async (work, organization, { id }, reason) => {
  await work.tx.many(revokeOperatorKeysOf(organization, id, work.actor.id, reason, work.now))
}
