import type { createProjectSshKey as CreateInProject, createSshKey as CreateOwn, SshKey } from '@gatehouse/contract/ssh-keys'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { type Managed, managedIn, managedOwn } from './key-owner.ts'
import { insertSshKey, type KeyOwner, keysSoFar } from './ssh-key-queries.ts'
import { type PublicKey, type Refusal, readPublicKey } from './ssh-public-key.ts'

/** What is refused is told by a word of ours: the text may be anything, and was perhaps never meant for us. */
const refused = (reason: Refusal) => new Problem('invalid_key', { detail: reason })

const keyIn = (text: string) => {
  const read = readPublicKey(text)
  if ('refused' in read) throw refused(read.refused)
  return read
}

/** The owner is locked: nobody counts at the same time. */
const requireRoomFor = async (work: Work, owner: KeyOwner, { fingerprint }: PublicKey): Promise<void> => {
  const { count, is_there } = await work.tx.one(keysSoFar(owner, fingerprint))
  if (is_there) throw new Problem('ssh_key_already_exists')
  await requireRoom(work.tx, 'access.max_ssh_keys', count)
}

interface Wanted {
  readonly action: string
  readonly name: string
  readonly public_key: string
  readonly reason?: string | null
}

const create = async (
  work: Work,
  { proof, owner, recorded }: Managed,
  { action, name, public_key, reason = null }: Wanted,
): Promise<SshKey> => {
  const { key, isWeak } = keyIn(public_key)
  await requireRoomFor(work, owner, key)
  // Only now: whoever has no room for another key keeps nobody busy with it.
  if (isWeak()) throw refused('weak')
  const made = await work.tx.one(insertSshKey(proof, { id: newId('ssh key'), name, owner, ...key }, work.actor, work.now))
  record(work, {
    action,
    resource_type: 'ssh_key',
    resource_id: made.id,
    ...recorded,
    metadata: { name, key_type: key.key_type, bits: key.bits, fingerprint: key.fingerprint, reason },
  })
  return made
}

export const createSshKey: Answering<typeof CreateOwn> = async (work, { body }) =>
  create(work, await managedOwn(work), { ...body, action: 'ssh_key.create' })

export const createProjectSshKey: Answering<typeof CreateInProject> = async (work, { params, body }) =>
  create(work, await managedIn(work, params.project_id), { ...body, action: 'project.ssh_key.create' })
