import type { deleteProjectSshKey as DeleteInProject, deleteSshKey as DeleteOwn } from '@gatehouse/contract/ssh-keys'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { type Managed, managedIn, managedOwn } from './key-owner.ts'
import type { SshKeySubscribers } from './ssh-key.ts'
import { endSshKey, lockSshKey } from './ssh-key-queries.ts'

interface Wanted {
  readonly action: string
  readonly ssh_key_id: string
  readonly reason?: string
}

const end = async (
  work: Work,
  { onSshKeyDeleted }: SshKeySubscribers,
  { proof, owner, recorded }: Managed,
  { action, ssh_key_id, reason = 'deleted' }: Wanted,
): Promise<void> => {
  const key = await work.tx.maybe(lockSshKey(ssh_key_id))
  // One that is there, but another's, is told like one that is not.
  if (!key || key.user_id !== owner.user_id || key.project_id !== owner.project_id) throw new Problem('ssh_key_not_found')
  const { id, user_id, project_id, fingerprint } = key
  await work.tx.one(endSshKey(proof, id, work.actor.id, reason, work.now))
  record(work, { action, resource_type: 'ssh_key', resource_id: id, ...recorded, metadata: { fingerprint, reason } })
  for (const subscriber of onSshKeyDeleted) await subscriber(work, { id, user_id, project_id, fingerprint }, reason)
}

export const deleteSshKey =
  (subscribers: SshKeySubscribers): Answering<typeof DeleteOwn> =>
  async (work, { params: { ssh_key_id }, body }) =>
    end(work, subscribers, await managedOwn(work, ssh_key_id), { ...body, action: 'ssh_key.delete', ssh_key_id })

export const deleteProjectSshKey =
  (subscribers: SshKeySubscribers): Answering<typeof DeleteInProject> =>
  async (work, { params: { project_id, ssh_key_id }, body }) =>
    end(work, subscribers, await managedIn(work, project_id, ssh_key_id), { ...body, action: 'project.ssh_key.delete', ssh_key_id })
