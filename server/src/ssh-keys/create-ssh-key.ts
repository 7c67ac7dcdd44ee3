import type { createProjectSshKey as CreateInProject, createSshKey as CreateOwn } from '@gatehouse/contract/ssh-keys'
import { record } from '../audit/record.ts'
import type { Answering } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { readPolicy } from '../policies/read-policy.ts'
import type { Work } from '../work/work.ts'
import { authorizeIn, authorizeOwn, ownedBy, ownedIn, recordedIn } from './key-owner.ts'
import { insertSshKey, type KeyOwner, keysSoFar } from './ssh-key-queries.ts'
import { type PublicKey, parsePublicKey } from './ssh-public-key.ts'

/** What is refused is told by a word of ours: the text may be anything, and was perhaps never meant for us. */
const keyIn = (text: string): PublicKey => {
  const key = parsePublicKey(text)
  if ('refused' in key) throw new Problem('invalid_key', { reason: key.refused })
  return key
}

/** The owner is locked: nobody counts at the same time. */
const requireRoom = async (work: Work, owner: KeyOwner, { fingerprint }: PublicKey): Promise<void> => {
  const policy = 'access.max_ssh_keys'
  const { count, is_there } = await work.tx.one(keysSoFar(owner, fingerprint))
  if (is_there) throw new Problem('ssh_key_already_exists')
  const limit = await readPolicy(work.tx, policy)
  if (count >= limit) throw new Problem('limit_reached', { policy, limit })
}

export const createSshKey: Answering<typeof CreateOwn> = async (work, { body: { name, public_key, reason = null } }) => {
  const self = await authorizeOwn(work)
  const key = keyIn(public_key)
  const owner = ownedBy(self.id)
  await requireRoom(work, owner, key)
  const made = await work.tx.one(insertSshKey(self, { id: newId('ssh key'), name, owner, ...key }, work.actor, work.now))
  record(work, {
    action: 'ssh_key.create',
    resource_type: 'ssh_key',
    resource_id: made.id,
    metadata: { name, key_type: key.key_type, bits: key.bits, fingerprint: key.fingerprint, reason },
  })
  return made
}

export const createProjectSshKey: Answering<typeof CreateInProject> = async (
  work,
  { params, body: { name, public_key, reason = null } },
) => {
  const project = await authorizeIn(work, params.project_id)
  const key = keyIn(public_key)
  const owner = ownedIn(project)
  await requireRoom(work, owner, key)
  const made = await work.tx.one(insertSshKey(project, { id: newId('ssh key'), name, owner, ...key }, work.actor, work.now))
  record(work, {
    action: 'project.ssh_key.create',
    resource_type: 'ssh_key',
    resource_id: made.id,
    ...recordedIn(project),
    metadata: { name, key_type: key.key_type, bits: key.bits, fingerprint: key.fingerprint, reason },
  })
  return made
}
