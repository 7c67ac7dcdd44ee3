import type { revokeRuntimeCredential as Op } from '@gatehouse/contract/runtime-credentials'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endDeliveriesOf } from '../deliveries/end-deliveries.ts'
import { authorizeToManage } from '../shared-runtimes/runtime-scope.ts'
import { recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { lockCredential, revokeCredential } from './runtime-credential-queries.ts'

/** What was delivered of it its operator has; nobody takes that back here. */
export const revokeRuntimeCredential: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { organization, runtime } = await authorizeToManage(work, params, 'shared_runtime_credential', params.credential_id)
  const credential = await work.tx.maybe(lockCredential(runtime.id, params.credential_id))
  if (!credential) throw new Problem('runtime_credential_not_found')
  if (credential.state === 'revoked') throw new Problem('state_conflict', { state: credential.state })
  const { id, name, version } = await work.tx.one(revokeCredential(organization, credential.id, work.actor.id, reason, work.now))
  const ended = await endDeliveriesOf(work, organization, [id])
  record(work, {
    action: 'shared_runtime.credential.revoke',
    resource_type: 'shared_runtime_credential',
    resource_id: id,
    ...recordedIn(organization),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, name, version, ...ended, reason },
  })
}
