import type {
  listServiceAccounts as List,
  listServiceAccountKeys as ListKeys,
  readServiceAccount as Read,
} from '@gatehouse/contract/service-accounts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { accountsIn } from './account-queries.ts'
import { accountIn, authorizeToSee } from './account-scope.ts'
import { keysOf } from './key-queries.ts'

export const listAccounts: Answering<typeof List> = async (work, { params, slice }) => {
  const project = await authorizeToSee(work, params.project_id)
  return listed(await work.tx.many(accountsIn(project.id, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const readAccount: Answering<typeof Read> = async (work, { params }) =>
  accountIn(work, await authorizeToSee(work, params.project_id, params.service_account_id), params.service_account_id)

export const listKeys: Answering<typeof ListKeys> = async (work, { params, slice }) => {
  const project = await authorizeToSee(work, params.project_id, params.service_account_id)
  const account = await accountIn(work, project, params.service_account_id)
  return listed(await work.tx.many(keysOf(project.id, account.id, slice.after, slice.limit + 1)), slice, ({ key_id }) => key_id)
}
