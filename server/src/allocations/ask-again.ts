import { systemProof } from '../authz/authorize.ts'
import type { Work } from '../work/work.ts'
import type { AllocationParts, AllocationRow, Synced } from './allocation.ts'
import { isAccountMade, isSetSent } from './allocation-queries.ts'
import { sendDeprovision, sendProvision } from './send-task.ts'
import { isOpen } from './states.ts'
import { sendWholeSet } from './sync-access.ts'

const proof = systemProof('node_tending', 'allocation.release', {})

/**
 * What the node is to do next, from the state alone; says which comes last. On a machine that is new there nothing is left of what the
 * former one has done, so that the account is to be made as well.
 */
export const askAgain = async (
  work: Work,
  { signing }: Pick<AllocationParts, 'signing'>,
  row: AllocationRow,
  is_machine_new = false,
): Promise<Synced> => {
  if (!isOpen(row.state)) return sendDeprovision(work, signing, proof, row)
  const { is_sent } = await work.tx.one(isSetSent(row.id))
  if (is_machine_new || !(await work.tx.one(isAccountMade(row.id))).is_made) {
    const account = await sendProvision(work, signing, proof, row)
    // That it was made sends the first set; a later one is sent with it, since nothing would.
    if (!is_sent) return account
  }
  return sendWholeSet(work, signing, row)
}
