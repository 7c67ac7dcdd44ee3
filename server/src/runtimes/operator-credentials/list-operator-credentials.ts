import type { listOperatorCredentials as Op } from '@gatehouse/contract/operator-credentials'
import { type Answering, listed } from '#rails/http/answer.ts'
import { authorizeToSee } from '../shared-runtimes/runtime-scope.ts'
import { operatorKeysIn } from './operator-credential-queries.ts'

export const listOperatorCredentials: Answering<typeof Op> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.manage', params)
  return listed(await work.tx.many(operatorKeysIn(runtime.id, slice.after, slice.limit + 1)), slice, ({ key_id }) => key_id)
}
