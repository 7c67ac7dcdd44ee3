import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { holdDevices } from './device-queries.ts'
import { fittingNodes, lockPool, putOnNode, shareNode } from './placement-queries.ts'
import { sendProvision } from './send-task.ts'
import { movedBy } from './states.ts'
import { newUsername } from './username.ts'

/** On a node where it fits, if there is one; otherwise it stays as it is, and waits. */
export const placeAllocation = async (
  work: Work,
  { signing }: Pick<AllocationParts, 'signing'>,
  row: AllocationRow,
): Promise<AllocationRow> => {
  const state = movedBy(row.state, 'placed')
  if (!state) return row
  await work.tx.one(lockPool(row))
  const proof = systemProof('node_tending', 'allocation.create', {})
  for (const { id: node_id } of await work.tx.many(fittingNodes(row))) {
    if (!(await work.tx.maybe(shareNode(node_id)))) continue
    const placed = await work.tx.one(putOnNode(proof, row, { node_id, username: newUsername(), state }, work.now))
    const held = await work.tx.many(holdDevices(proof, row.id, work.now))
    const device_indexes = held.length === 0 ? null : held.map(({ device_index }) => device_index)
    const sent = await sendProvision(work, signing, proof, placed)
    record(work, {
      action: 'allocation.provision',
      ...recordedOf(placed),
      metadata: { node_id, username: placed.username_on_node, device_indexes, ...sent },
    })
    return placed
  }
  return row
}
