import type { disableSharedRuntime as Disable, enableSharedRuntime as Enable } from '@gatehouse/contract/shared-runtimes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeToManage } from './runtime-scope.ts'
import { type Managing, type RuntimeRow, type RuntimeSubscribers, recordedIn, shownRuntime } from './shared-runtime.ts'
import { restRuntime, resumeRuntime } from './shared-runtime-queries.ts'

const moved = (organization: Managing, { id, display_name, state }: RuntimeRow, to: RuntimeRow, reason: string) => ({
  resource_type: 'shared_runtime',
  resource_id: id,
  ...recordedIn(organization),
  metadata: { display_name, from: state, to: to.state, reason },
})

/** Its operator stands nowhere from the commit on; what it was to be given is void. */
export const disableRuntime =
  ({ onRuntimeDisabled }: Pick<RuntimeSubscribers, 'onRuntimeDisabled'>): Answering<typeof Disable> =>
  async (work, { params, body: { reason } }) => {
    const { organization, runtime } = await authorizeToManage(work, params)
    if (runtime.state === 'disabled') throw new Problem('state_conflict', { state: runtime.state })
    const disabled = await work.tx.one(restRuntime(organization, runtime.id, work.actor.id, reason, work.now))
    record(work, { action: 'shared_runtime.disable', ...moved(organization, runtime, disabled, reason) })
    for (const subscriber of onRuntimeDisabled) await subscriber(work, organization, disabled, reason)
    return shownRuntime(disabled)
  }

/** With the attachments, credentials and tokens that have stayed; its reports are numbered anew. */
export const enableRuntime: Answering<typeof Enable> = async (work, { params, body: { reason } }) => {
  const { organization, runtime } = await authorizeToManage(work, params)
  if (runtime.state !== 'disabled') throw new Problem('state_conflict', { state: runtime.state })
  const enabled = await work.tx.one(resumeRuntime(organization, runtime.id, work.now))
  record(work, { action: 'shared_runtime.enable', ...moved(organization, runtime, enabled, reason) })
  return shownRuntime(enabled)
}
