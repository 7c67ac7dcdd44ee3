import type { RuntimeSync, ShownAllocation } from '@gatehouse/contract/allocations'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import type { WaitingRow } from './allocation.ts'
import { type ShownRow, shownAllocation } from './allocation-queries.ts'
import { opensWith, requiredKinds } from './key-kinds.ts'

/** What a list shows: without what is between us and the node. */
export const listedOf = ({
  generation: _g,
  epoch: _e,
  confirmed_generation: _c,
  confirmed_at: _a,
  cleared_at: _l,
  terms_due_at: _d,
  ...told
}: WaitingRow) => told

type Known = Omit<ShownRow, 'ssh_key_ids' | 'ssh_key_types' | 'protocol_version' | 'waits_for' | 'device_indexes' | 'ssh'>

/** Says only what the node itself has confirmed (SG-20). */
export const runtimeSync = (row: Known): RuntimeSync => {
  const { task_id, generation } = row
  if (!row.is_access_asked || task_id === null) {
    // On no node there was never anybody to let in.
    if (row.state === 'released') return { status: 'applied', since: row.state_since, generation: null }
    if (row.state === 'failed') return { status: 'failed', since: row.state_since, generation: null }
    return { status: 'pending', since: row.created_at, generation: null }
  }
  // Whatever the node had confirmed: it says nothing any more.
  if (row.abandoned_at !== null) return { status: 'failed', since: row.abandoned_at, generation, task_id }
  // A policy has changed since: what is to be sent is not what was confirmed.
  if (row.terms_due_at !== null) return { status: 'pending', since: row.terms_due_at, generation, task_id }
  if (row.confirmed_generation >= generation && !row.is_of_earlier_epoch && row.confirmed_at !== null)
    return { status: 'applied', since: row.confirmed_at, generation, task_id }
  if (row.task_failed_at !== null) return { status: 'failed', since: row.task_failed_at, generation, task_id }
  return { status: 'pending', since: row.task_created_at ?? row.created_at, generation, task_id }
}

/** Its own keys that are in no set, by what policy says now. On no node yet, a node may come that verifies. */
const withheldAmong = async (work: Work, row: ShownRow): Promise<ShownAllocation['withheld_ssh_key_ids']> => {
  const { ssh_key_ids, ssh_key_types, protocol_version } = row
  if (ssh_key_ids.length === 0) return []
  const key_rule = { required: await requiredKinds(work, row), can_verify: protocol_version === null || protocol_version >= 2 }
  return ssh_key_ids.filter((_, at) => !opensWith(key_rule, ssh_key_types[at]!))
}

export const shown = async (work: Work, allocation_id: string): Promise<ShownAllocation> => {
  const { actor, now } = work
  const row = await work.tx.maybe(shownAllocation(allocation_id, actor.type === 'user' ? actor.id : null, now))
  if (!row) throw new Problem('allocation_not_found')
  const {
    ssh_key_ids,
    ssh_key_types,
    protocol_version,
    device_indexes,
    ssh,
    task_id: _t,
    task_failed_at: _f,
    task_created_at: _c,
    is_access_asked: _s,
    abandoned_at: _n,
    is_of_earlier_epoch: _o,
    ...allocation
  } = row
  const withheld_ssh_key_ids = await withheldAmong(work, row)
  return { ...listedOf(allocation), ssh_key_ids, withheld_ssh_key_ids, device_indexes, ssh, runtime_sync: runtimeSync(row) }
}
