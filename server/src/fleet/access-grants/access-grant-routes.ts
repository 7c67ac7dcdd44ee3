import * as grants from '@gatehouse/contract/access-grants'
import { listMemberSshKeys as ListMemberSshKeys } from '@gatehouse/contract/ssh-keys'
import { answer, answerAgain } from '#rails/http/answer.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { createAccessGrant } from './create-access-grant.ts'
import { listAccessGrants } from './list-access-grants.ts'
import { listMemberSshKeys } from './list-member-ssh-keys.ts'
import { revokeAccessGrant } from './revoke-access-grant.ts'

export const accessGrantRoutes = (signing: TaskSigning) => [
  answer(grants.listAccessGrants, listAccessGrants),
  answerAgain(grants.createAccessGrant, createAccessGrant(signing)),
  answer(grants.revokeAccessGrant, revokeAccessGrant(signing)),
  answer(ListMemberSshKeys, listMemberSshKeys),
]
