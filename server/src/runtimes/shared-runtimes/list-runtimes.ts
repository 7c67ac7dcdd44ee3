import type { listSharedRuntimes as List, readSharedRuntime as Read } from '@gatehouse/contract/shared-runtimes'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { authorizeToSee, runtimesOf } from './runtime-scope.ts'
import { shownRuntime } from './shared-runtime.ts'
import { runtimesIn } from './shared-runtime-queries.ts'

export const listRuntimes: Answering<typeof List> = async (work, { params, slice }) => {
  const found = await work.tx.maybe(findOrganization(params.org_id))
  const { id } = await authorize(work, 'tenant.shared_runtime.read', runtimesOf(), found)
  const { items, after } = listed(await work.tx.many(runtimesIn(id, slice.after, slice.limit + 1)), slice, (runtime) => runtime.id)
  return { items: items.map(shownRuntime), after }
}

export const readRuntime: Answering<typeof Read> = async (work, { params }) =>
  shownRuntime((await authorizeToSee(work, 'tenant.shared_runtime.read', params)).runtime)
