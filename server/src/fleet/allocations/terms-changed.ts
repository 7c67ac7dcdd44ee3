import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { clearTermsDue, markTermsDue } from './allocation-queries.ts'
import { entriesOf } from './key-entry-queries.ts'
import { opensWith } from './key-kinds.ts'
import { syncAccess } from './sync-access.ts'
import { termPolicies, termsOf } from './terms.ts'

const proof = systemProof('access_cascade', 'allocation.ssh_keys.write', {})

/** Where a policy has another value from now on. */
interface Changed {
  readonly key: string
  readonly org_id: string | null
  readonly project_id: string | null
}

/**
 * What a policy of sessions concerns is due from now on, and sent a moment later, each by itself: the platform's may concern thousands. Who has one
 * of them locked is waited for; who locks it afterwards reads the new policy.
 */
export const onPolicyChanged = async (work: Work, { key, org_id, project_id }: Changed): Promise<void> => {
  if (termPolicies.some((each) => each === key)) await work.tx.many(markTermsDue(proof, { org_id, project_id }, work.now))
}

/** Sends a set by the policy of now; whoever holds a key that is not in it any more is told by grant and record. */
export const sendTerms = async (
  work: Work,
  { signing, onSetMoved }: Pick<AllocationParts, 'signing' | 'onSetMoved'>,
  row: AllocationRow,
): Promise<void> => {
  if (!(await work.tx.maybe(clearTermsDue(proof, row.id)))) return
  const sent = await syncAccess(work, signing, row)
  if (sent.generation === null) return
  for (const subscriber of onSetMoved) await subscriber(work, row, sent.generation)
  const { key_rule, told } = await termsOf(work, row)
  const entries = await work.tx.many(entriesOf(row.id, work.now))
  const withheld = entries.filter(({ key_type }) => !opensWith(key_rule, key_type)).map(({ fingerprint }) => fingerprint)
  record(work, {
    action: 'allocation.terms.send',
    ...recordedOf(row),
    severity: withheld.length > 0 ? 'warning' : 'info',
    metadata: {
      ...{ node_id: row.node_id, required_key_kinds: key_rule.required, bounds: told.bounds ?? null },
      ...{ withheld_fingerprints: [...new Set(withheld)], ...sent },
    },
  })
}
