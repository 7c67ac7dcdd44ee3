import { followSet } from '../server/src/fleet/access-grants/follow-set.ts'
import { type AllocationTending, tendAllocations } from '../server/src/fleet/allocations/tend-allocations.ts'
import type { LiveServer } from './live-server.ts'

/** What looks after allocations, as the server starts it. */
export const tendingOf = ({ database, append, tasking }: LiveServer): AllocationTending => ({
  ...{ database, append, signing: tasking.tasks.signing, onSetMoved: [followSet] },
})

/** One turn of it, at once. */
export const tendNow = (live: LiveServer): Promise<void> => tendAllocations(tendingOf(live))
