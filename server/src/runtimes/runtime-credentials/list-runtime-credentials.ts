import type { listRuntimeCredentials as List } from '@gatehouse/contract/runtime-credentials'
import { type Answering, listed } from '#rails/http/answer.ts'
import { authorizeToSee } from '../shared-runtimes/runtime-scope.ts'
import { credentialsOf } from './runtime-credential-queries.ts'

export const listRuntimeCredentials: Answering<typeof List> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.manage', params)
  return listed(await work.tx.many(credentialsOf(runtime.id, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
