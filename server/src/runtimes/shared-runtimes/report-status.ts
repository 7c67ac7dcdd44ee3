import type { reportRuntimeStatus as Op } from '@gatehouse/contract/shared-runtimes'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeToOperate } from './runtime-scope.ts'
import { recordedIn } from './shared-runtime.ts'
import { writeStatus } from './shared-runtime-queries.ts'

/** Reports may come twice or in another order; only what is later than all before is taken. That it was said is recorded either way. */
export const reportStatus: Answering<typeof Op> = async (work, { params, body: { sequence, state, message = null } }) => {
  const { organization, runtime } = await authorizeToOperate(work, 'shared_runtime.report', params)
  const written = await work.tx.maybe(writeStatus(organization, runtime.id, { sequence, state, message }, work.now))
  const is_taken = written !== undefined
  record(work, {
    action: 'shared_runtime.status.report',
    resource_type: 'shared_runtime',
    resource_id: runtime.id,
    ...recordedIn(organization),
    metadata: { display_name: runtime.display_name, sequence, from: runtime.state, state, is_taken },
  })
  return { is_taken, sequence: (written ?? runtime).reported_sequence }
}
