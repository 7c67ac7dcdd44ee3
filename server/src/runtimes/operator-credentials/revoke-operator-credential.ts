import type { revokeOperatorCredential as Op } from '@gatehouse/contract/operator-credentials'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeToManage } from '../shared-runtimes/runtime-scope.ts'
import { type RuntimeSubscribers, recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { endCursors } from '../shared-runtimes/shared-runtime-queries.ts'
import { findOperatorKey, revokeOperatorKey, revokeOperatorKeysOf } from './operator-credential-queries.ts'

export const revokeOperatorCredential: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { organization, runtime } = await authorizeToManage(work, params, 'operator_credential', params.key_id)
  const key = await work.tx.maybe(findOperatorKey(runtime.id, params.key_id))
  if (!key) throw new Problem('operator_credential_not_found')
  // One that has run out can still be revoked: its tokens may live longer than it did.
  if (key.state === 'revoked') throw new Problem('state_conflict', { state: key.state })
  await work.tx.one(revokeOperatorKey(organization, key.key_id, work.actor.id, reason, work.now))
  await work.tx.one(endCursors(organization, runtime.id, work.now))
  record(work, {
    action: 'shared_runtime.operator_credential.revoke',
    resource_type: 'operator_credential',
    resource_id: key.key_id,
    ...recordedIn(organization),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, reason },
  })
}

/** With its runtime each of them ends. */
export const endOperatorCredentials: RuntimeSubscribers['onRuntimeDeleted'][number] = async (work, organization, runtime, reason) => {
  const { id, display_name } = runtime
  const ended = await work.tx.many(revokeOperatorKeysOf(organization, id, work.actor.id, reason, work.now))
  if (ended.length === 0) return
  const key_ids = ended.map((key) => key.id).sort()
  record(work, {
    action: 'shared_runtime.operator_credential.end',
    resource_type: 'shared_runtime',
    resource_id: id,
    ...recordedIn(organization),
    // No row grows with how many there were.
    metadata: { display_name, count: key_ids.length, key_ids: key_ids.slice(0, 20), reason },
  })
}
