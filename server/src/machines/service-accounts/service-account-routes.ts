import * as accounts from '@gatehouse/contract/service-accounts'
import { answer } from '#rails/http/answer.ts'
import { createAccount } from './create-account.ts'
import { createKey } from './create-key.ts'
import { deleteAccount } from './delete-account.ts'
import { disableAccount, enableAccount } from './disable-account.ts'
import { listAccounts, listKeys, readAccount } from './list-accounts.ts'
import { revokeKey } from './revoke-key.ts'
import { rotateKey } from './rotate-key.ts'

export const serviceAccountRoutes = [
  answer(accounts.listServiceAccounts, listAccounts),
  answer(accounts.createServiceAccount, createAccount),
  answer(accounts.readServiceAccount, readAccount),
  answer(accounts.disableServiceAccount, disableAccount),
  answer(accounts.enableServiceAccount, enableAccount),
  answer(accounts.deleteServiceAccount, deleteAccount),
  answer(accounts.listServiceAccountKeys, listKeys),
  answer(accounts.createServiceAccountKey, createKey),
  answer(accounts.rotateServiceAccountKey, rotateKey),
  answer(accounts.revokeServiceAccountKey, revokeKey),
]
