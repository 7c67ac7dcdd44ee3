import type { listSigningKeys as Op } from '@gatehouse/contract/signing-keys'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { allKeys } from './signing-key-queries.ts'

export const listSigningKeys: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, 'platform.admin', platformKind, thePlatform)
  return listed(await work.tx.many(allKeys(slice.after, slice.limit + 1)), slice, ({ kid }) => kid)
}
