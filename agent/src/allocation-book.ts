import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import type { Ended, Wanted } from './hands.ts'
import type { AllocationState, State } from './state.ts'

// Far longer than any task lives, so that nothing which is still good could be older than what was forgotten.
const remembered_ms = 30 * 24 * 3600 * 1000

/** Each once; what was said of it last counts. */
export const together = (before: Ended = [], more: Ended = []): Ended => {
  const again = new Set(more.map(({ session_id }) => session_id))
  return [...before.filter(({ session_id }) => !again.has(session_id)), ...more]
}

export interface AllocationBook {
  readonly all: () => readonly AllocationState[]
  /** Sessions that were ended for what was begun, until it is reported. Never rejects. */
  readonly noteEnded: (allocation_id: string, more: Ended) => Promise<void>
  readonly get: (allocation_id: string) => AllocationState | undefined
  /** On disk before it returns. */
  readonly keep: (allocation: AllocationState) => Promise<void>
  /** Known until the agent ends, where it cannot be written down: what was taken away is at least not brought back by us. */
  readonly hold: (allocation: AllocationState) => void
}

export const isGone = ({ applied, begun }: AllocationState): boolean =>
  applied?.type === 'allocation.deprovision_user' && applied.generation === begun

/**
 * What its account is to be like. Where the latest was begun and not finished, that one and nothing before it: it says who is to be out. An
 * account that was only begun to be made is nobody's yet.
 */
export const wantedOf = ({ allocation_id, username, begun, begun_task, applied }: AllocationState): Wanted | undefined => {
  if (applied?.generation === begun) return { allocation_id, username, ...applied }
  if (!begun_task || (applied === null && begun_task.type === 'allocation.provision_user')) return undefined
  return { allocation_id, username, generation: begun, ...begun_task }
}

const ends = new WeakMap<AllocationState, readonly number[]>()
/** When keys of its account are over. What is kept of an allocation is replaced when it changes, so they are read once. */
export const endsOf = (state: AllocationState): readonly number[] => {
  const known = ends.get(state)
  if (known) return known
  const { keys = [] } = (wantedOf(state)?.params ?? {}) as { readonly keys?: readonly DesiredKey[] }
  const found = keys.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]))
  ends.set(state, found)
  return found
}

/** The same, and nobody in it: the control plane has forgotten it, and would never take anybody out. Account and home stay, for somebody to look. */
export const closedOf = (wanted: Wanted): Wanted => ({
  ...wanted,
  type: 'allocation.install_authorized_keys',
  params: { ...wanted.params, keys: [] },
  is_written: false,
})

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
    noteEnded: async (id, more) => {
      const found = known.get(id.toLowerCase())
      if (!found || more.length === 0) return
      const noted = { ...found, ended: together(found.ended, more) }
      // What cannot be written down is known for as long as we run.
      await state.keepAllocation(noted).catch(() => {})
      known.set(id.toLowerCase(), noted)
    },
    all: () => [...known.values()],
    get: (id) => known.get(id.toLowerCase()),
    keep: async (allocation) => {
      await state.keepAllocation(allocation)
      known.set(allocation.allocation_id.toLowerCase(), allocation)
    },
    hold: (allocation) => void known.set(allocation.allocation_id.toLowerCase(), allocation),
  }
}
