import type { AllocationState, State } from './state.ts'

// Far longer than any task lives, so that nothing which is still good could be older than what was forgotten.
const remembered_ms = 30 * 24 * 3600 * 1000

export interface AllocationBook {
  readonly all: () => readonly AllocationState[]
  readonly get: (allocation_id: string) => AllocationState | undefined
  /** On disk before it returns. */
  readonly keep: (allocation: AllocationState) => Promise<void>
}

export const isGone = ({ applied, begun }: AllocationState): boolean =>
  applied?.type === 'allocation.deprovision_user' && applied.generation === begun

/** What was applied to which allocation. */
export const openAllocationBook = async (
  state: Pick<State, 'allocations' | 'keepAllocation' | 'dropAllocation'>,
  now: Date,
): Promise<AllocationBook> => {
  const known = new Map<string, AllocationState>()
  for (const each of await state.allocations()) {
    if (isGone(each) && Date.parse(each.applied!.at) + remembered_ms < now.getTime()) await state.dropAllocation(each.allocation_id)
    else known.set(each.allocation_id.toLowerCase(), each)
  }
  return {
    all: () => [...known.values()],
    get: (id) => known.get(id.toLowerCase()),
    keep: async (allocation) => {
      await state.keepAllocation(allocation)
      known.set(allocation.allocation_id.toLowerCase(), allocation)
    },
  }
}
