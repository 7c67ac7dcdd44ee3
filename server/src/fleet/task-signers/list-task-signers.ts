import type { listTaskSigners as Op } from '@gatehouse/contract/nodes'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { allSigners } from './task-signer-queries.ts'

/** The latest version first. */
export const listTaskSigners: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, ['platform.node.read', 'platform.node.manage'], platformKind, thePlatform)
  const before = slice.after === null ? null : Number(slice.after)
  return listed(await work.tx.many(allSigners(before, slice.limit + 1)), slice, ({ version }) => String(version))
}
