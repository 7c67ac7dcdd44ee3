import * as sshKeys from '@gatehouse/contract/ssh-keys'
import { answer } from '#rails/http/answer.ts'
import { createProjectSshKey, createSshKey } from './create-ssh-key.ts'
import { deleteProjectSshKey, deleteSshKey } from './delete-ssh-key.ts'
import { listProjectSshKeys, listSshKeys } from './list-ssh-keys.ts'
import type { SshKeySubscribers } from './ssh-key.ts'

/** The list of a member's keys for those who grant access is told by the room of grants. */
export const sshKeyRoutes = (subscribers: SshKeySubscribers) => [
  answer(sshKeys.listSshKeys, listSshKeys),
  answer(sshKeys.createSshKey, createSshKey),
  answer(sshKeys.deleteSshKey, deleteSshKey(subscribers)),
  answer(sshKeys.listProjectSshKeys, listProjectSshKeys),
  answer(sshKeys.createProjectSshKey, createProjectSshKey),
  answer(sshKeys.deleteProjectSshKey, deleteProjectSshKey(subscribers)),
]
