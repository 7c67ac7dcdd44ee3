import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { type AllocationParts, type AllocationRow, recordedOf, type Synced } from './allocation.ts'
import { isAccountMade, isSetSent } from './allocation-queries.ts'
import { sendDeprovision, sendProvision } from './send-task.ts'
import { isOpen } from './states.ts'
import { sendWholeSet } from './sync-access.ts'

const proof = systemProof('node_tending', 'allocation.release', {})

/**
 * What the node is to do next, from the state alone; says which comes last. Where the account that was made is gone, it is to be made as
 * well.
 */
export const askAgain = async (
  work: Work,
  { signing }: Pick<AllocationParts, 'signing'>,
  row: AllocationRow,
  is_account_gone = false,
): Promise<Synced> => {
  if (!isOpen(row.state)) return sendDeprovision(work, signing, proof, row)
  const { is_sent } = await work.tx.one(isSetSent(row.id))
  if (is_account_gone || !(await work.tx.one(isAccountMade(row.id))).is_made) {
    const account = await sendProvision(work, signing, proof, row)
    // That it was made sends the first set; a later one is sent with it, since nothing would.
    if (!is_sent) return account
  }
  return sendWholeSet(work, signing, row)
}

/** The same of what the node had confirmed: nothing of it counts as applied before it has said so anew, neither the set nor any grant in it. */
export const askAnew = async (
  work: Work,
  parts: AllocationParts,
  row: AllocationRow,
  { because, is_account_gone }: { because: string; is_account_gone: boolean },
): Promise<void> => {
  const sent = await askAgain(work, parts, row, is_account_gone)
  const { is_sent } = await work.tx.one(isSetSent(row.id))
  if (is_sent && sent.generation !== null) for (const subscriber of parts.onSetMoved) await subscriber(work, row, sent.generation)
  record(work, {
    action: 'allocation.ask_again',
    ...recordedOf(row),
    metadata: { because, node_id: row.node_id, state: row.state, ...sent },
  })
}
