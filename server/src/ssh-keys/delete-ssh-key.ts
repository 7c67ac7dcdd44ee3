import type { deleteProjectSshKey as DeleteInProject, deleteSshKey as DeleteOwn } from '@gatehouse/contract/ssh-keys'
import { record } from '../audit/record.ts'
import type { Answering } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { authorizeIn, authorizeOwn, recordedIn } from './key-owner.ts'
import type { SshKeySubscribers } from './ssh-key.ts'
import { endSshKey, lockSshKey, type SshKeyRow } from './ssh-key-queries.ts'

/** One that is there, but another's, is told like one that is not. */
const owned = (key: SshKeyRow | undefined, isOwned: (key: SshKeyRow) => boolean): SshKeyRow => {
  if (!key || !isOwned(key)) throw new Problem('ssh_key_not_found')
  return key
}

export const deleteSshKey =
  ({ onSshKeyDeleted }: SshKeySubscribers): Answering<typeof DeleteOwn> =>
  async (work, { params, body: { reason = 'deleted' } }) => {
    const self = await authorizeOwn(work, params.ssh_key_id)
    const { id, user_id, project_id, fingerprint } = owned(
      await work.tx.maybe(lockSshKey(params.ssh_key_id)),
      (key) => key.user_id === work.actor.id,
    )
    await work.tx.one(endSshKey(self, id, work.actor.id, reason, work.now))
    record(work, { action: 'ssh_key.delete', resource_type: 'ssh_key', resource_id: id, metadata: { fingerprint, reason } })
    for (const subscriber of onSshKeyDeleted) await subscriber(work, { id, user_id, project_id, fingerprint }, reason)
  }

export const deleteProjectSshKey =
  ({ onSshKeyDeleted }: SshKeySubscribers): Answering<typeof DeleteInProject> =>
  async (work, { params, body: { reason = 'deleted' } }) => {
    const project = await authorizeIn(work, params.project_id, params.ssh_key_id)
    const { id, user_id, project_id, fingerprint } = owned(
      await work.tx.maybe(lockSshKey(params.ssh_key_id)),
      (key) => key.project_id === project.id,
    )
    await work.tx.one(endSshKey(project, id, work.actor.id, reason, work.now))
    record(work, {
      action: 'project.ssh_key.delete',
      resource_type: 'ssh_key',
      resource_id: id,
      ...recordedIn(project),
      metadata: { fingerprint, reason },
    })
    for (const subscriber of onSshKeyDeleted) await subscriber(work, { id, user_id, project_id, fingerprint }, reason)
  }
