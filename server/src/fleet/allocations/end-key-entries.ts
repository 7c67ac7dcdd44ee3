import type { Work } from '#ground/work/work.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { type EndedEntry, endEntries, type WhichEntries } from './key-entry-queries.ts'

/** Takes keys out of the allocations' own sets, which must be locked; says which. Whoever asks sends the set afterwards, and records it. */
export const endKeyEntries = (work: Work, allocation_ids: readonly string[], which: WhichEntries, cause: string): Promise<EndedEntry[]> =>
  work.tx.many(endEntries(systemProof('access_cascade', 'allocation.ssh_keys.write', {}), allocation_ids, which, cause, work.now))
