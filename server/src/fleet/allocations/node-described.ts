import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { lockOnNode } from './allocation-queries.ts'
import { askAnew } from './ask-again.ts'
import { holdDevices, toldOfDevices } from './device-queries.ts'
import { isOpen } from './states.ts'

const proof = systemProof('node_tending', 'allocation.create', {})

/**
 * What was placed before its node said which GPUs it has gets some of them now. Where the node says fewer than it was counted with, the last get
 * none, and their sessions open none: somebody must look at that.
 */
const giveDevices = async (work: Work, row: AllocationRow): Promise<void> => {
  const held = await work.tx.many(holdDevices(proof, row.id, work.now))
  const { devices, has_devices, is_described } = await work.tx.one(toldOfDevices(row.id))
  if (held.length === 0 && (has_devices || devices === null || !is_described)) return
  record(work, {
    action: 'allocation.devices.give',
    ...recordedOf(row),
    severity: held.length === 0 ? 'high' : 'info',
    metadata: { node_id: row.node_id, gpus: row.gpus, device_indexes: held.map(({ device_index }) => device_index) },
  })
}

/** It is to do the same in other words: what it was sent last says nothing of its devices, or what it does not understand. */
export const onNodeDescribed =
  (parts: AllocationParts): NodeSubscribers['onNodeDescribed'][number] =>
  async (work, { id: node_id }) => {
    const open = (await work.tx.many(lockOnNode(node_id))).filter(({ state }) => isOpen(state))
    for (const row of open.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))) await giveDevices(work, row)
    for (const row of open) await askAnew(work, parts, row, { because: 'node_described', is_account_gone: false })
  }
