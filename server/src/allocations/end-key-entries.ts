import { systemProof } from '../authz/authorize.ts'
import type { Work } from '../work/work.ts'
import { endEntries, type WhichEntries } from './key-entry-queries.ts'

/** Takes keys out of the allocations' own sets, which must be locked; says which. Whoever asks sends the set afterwards, and records it. */
export const endKeyEntries = (
  work: Work,
  allocation_ids: readonly string[],
  which: WhichEntries,
  cause: string,
): Promise<{ allocation_id: string; ssh_key_id: string }[]> =>
  work.tx.many(endEntries(systemProof('access_cascade', 'allocation.ssh_keys.write', {}), allocation_ids, which, cause, work.now))
