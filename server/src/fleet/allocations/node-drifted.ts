import type { Work } from '#ground/work/work.ts'
import type { AllocationParts } from './allocation.ts'
import { lockAllocation } from './allocation-queries.ts'
import { askAnew } from './ask-again.ts'

/** By its node's own word an allocation is not as it should be there. */
export interface Drifted {
  readonly allocation_id: string
  readonly because: 'drift_found' | 'account_left'
  readonly is_account_gone: boolean
}

/**
 * What the node had confirmed is in force no longer, so that it owes it again, and says by that task how it goes. What it owes already is
 * asked for again by itself.
 */
export const askAfterDrift = async (work: Work, parts: AllocationParts, { allocation_id, ...why }: Drifted): Promise<void> => {
  const row = await work.tx.one(lockAllocation(allocation_id))
  if (row.state === 'active' && row.confirmed_generation >= row.generation) await askAnew(work, parts, row, why)
}
