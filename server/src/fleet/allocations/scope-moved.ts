import type { Work } from '#ground/work/work.ts'
import type { TenancySubscribers } from '#people/tenancy/subscribers.ts'
import { record } from '#rails/audit/record.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { lockPlacedIn } from './allocation-queries.ts'
import { syncAccess } from './sync-access.ts'

/** While an organization or a project rests nobody enters what is in it; afterwards those do who could before and still may. */
const syncAll = async (
  work: Work,
  { signing, onSetMoved }: AllocationParts,
  org_id: string,
  project_id: string | null,
  state: string,
): Promise<void> => {
  for (const row of await work.tx.many(lockPlacedIn(org_id, project_id))) {
    const sent = await syncAccess(work, signing, row)
    if (sent.generation === null) continue
    for (const subscriber of onSetMoved) await subscriber(work, row, sent.generation)
    record(work, {
      action: state === 'active' ? 'allocation.access.resume' : 'allocation.access.suspend',
      ...recordedOf(row),
      metadata: { node_id: row.node_id, because: project_id === null ? 'organization' : 'project', state, ...sent },
    })
  }
}

export const syncWithOrganization =
  (parts: AllocationParts): TenancySubscribers['onOrganizationMoved'][number] =>
  (work, { id, state }) =>
    syncAll(work, parts, id, null, state)

export const syncWithProject =
  (parts: AllocationParts): TenancySubscribers['onProjectMoved'][number] =>
  (work, { id, org_id, state }) =>
    syncAll(work, parts, org_id, id, state)
