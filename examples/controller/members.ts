import type { Allocation, AllocationState } from '@gatehouse/contract/allocations'
import type { RuntimeMember } from '@gatehouse/contract/shared-runtimes'

/** What an allocation is to the runtime; those that are over are nothing to it. */
const stateOf: Readonly<Record<AllocationState, RuntimeMember['state'] | null>> = {
  requested: 'joining',
  provisioning: 'joining',
  active: 'ready',
  releasing: 'draining',
  release_failed: 'down',
  released: null,
  failed: null,
}

/** The end of its id, by which nobody finds the allocation: names stay until the next report, also when its project was detached. */
const nameOf = (allocation_id: string): string => `worker-${allocation_id.slice(-12)}`

/** A report holds no more. */
const most_members = 1000

/** A real controller would ask its cluster; this one believes that each allocation is a worker. */
export const membersFrom = (allocations: readonly Allocation[]): RuntimeMember[] => {
  const workers = allocations.flatMap(({ id, state }): RuntimeMember[] => {
    const seen = stateOf[state]
    return seen === null ? [] : [{ name: nameOf(id), role: 'worker', state: seen, allocation_id: id }]
  })
  const self: RuntimeMember = { name: 'controller', role: 'controller', state: 'ready', allocation_id: null }
  return [self, ...workers].slice(0, most_members)
}
