import { record } from '#rails/audit/record.ts'
import { endDeliveriesOf } from '../deliveries/end-deliveries.ts'
import { type RuntimeSubscribers, recordedIn } from '../shared-runtimes/shared-runtime.ts'
import { lockCredentialsOf, revokeCredentialsOf } from './runtime-credential-queries.ts'

type Subscriber = RuntimeSubscribers['onRuntimeDisabled'][number]

/** What was promised to the operator of a runtime that rests is void; the secrets stay for when it runs again. */
export const endRuntimeDeliveries: Subscriber = async (work, organization, { id, display_name }, reason) => {
  const subjects = (await work.tx.many(lockCredentialsOf(id))).map((credential) => credential.id)
  const ended = await endDeliveriesOf(work, organization, subjects)
  if (ended.deliveries_ended_count === 0) return
  record(work, {
    action: 'shared_runtime.deliveries.end',
    resource_type: 'shared_runtime',
    resource_id: id,
    ...recordedIn(organization),
    metadata: { display_name, ...ended, reason },
  })
}

/** With the runtime its secrets end, and with them what waits of them. */
export const endRuntimeCredentials: Subscriber = async (work, organization, runtime, reason) => {
  await endRuntimeDeliveries(work, organization, runtime, reason)
  const { id: shared_runtime_id, display_name } = runtime
  for (const { id, name, version } of await work.tx.many(
    revokeCredentialsOf(organization, shared_runtime_id, work.actor.id, reason, work.now),
  ))
    record(work, {
      action: 'shared_runtime.credential.revoke',
      resource_type: 'shared_runtime_credential',
      resource_id: id,
      ...recordedIn(organization),
      metadata: { shared_runtime_id, display_name, name, version, deliveries_ended: [], cause: 'runtime_deleted', reason },
    })
}
