import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { type AllocationRow, nothingSent, type Synced } from './allocation.ts'
import { isSetSent } from './allocation-queries.ts'
import { desiredSet, mostKeys } from './desired-set.ts'
import { entriesOf } from './key-entry-queries.ts'
import { isVerified, opensWith } from './key-kinds.ts'
import { sendKeys } from './send-task.ts'
import { termsOf } from './terms.ts'

/** Sends the whole set as it is to be now (SG-06). What is not in it does not log in any more. */
export const sendWholeSet = async (work: Work, signing: TaskSigning, allocation: AllocationRow): Promise<Synced> => {
  const { key_rule, told } = await termsOf(work, allocation)
  const entries = await work.tx.many(entriesOf(allocation.id, work.now))
  const opening = entries.filter(({ key_type }) => opensWith(key_rule, key_type))
  const set = desiredSet(opening, isVerified(key_rule))
  if (set.keys.length > mostKeys) throw new Problem('limit_reached', { limit: mostKeys })
  return sendKeys(work, signing, systemProof('access_cascade', 'allocation.ssh_keys.write', {}), allocation, { set, told })
}

/**
 * After any change of who may enter, in the same transaction, with the allocation locked. Before the first set was sent there is nothing
 * to do: that one has everything (SG-08).
 */
export const syncAccess = async (work: Work, signing: TaskSigning, allocation: AllocationRow): Promise<Synced> => {
  if (allocation.state !== 'active' && allocation.state !== 'provisioning') return nothingSent
  if (allocation.state === 'provisioning' && !(await work.tx.one(isSetSent(allocation.id))).is_sent) return nothingSent
  return sendWholeSet(work, signing, allocation)
}
