import type { AccessGrant } from '@gatehouse/contract/access-grants'
import type { Actor } from '#ground/work/work.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { type AllocationRow, allocationKind, type Synced } from '../allocations/allocation.ts'
import { type KeyRule, opensWith } from '../allocations/key-kinds.ts'
import type { KnownGrant } from './access-grant-queries.ts'
import type { ToldGrant } from './told-grant-queries.ts'

/** An allocation, and whether who asks was given access to it. */
export interface Granted extends AllocationRow {
  readonly grantee_user_id: string | null
}

const relationsOf = (row: Granted, actor: Actor) => {
  const { relations } = allocationKind.placeOf(row, actor)
  return actor.type === 'user' && actor.id === row.grantee_user_id ? [...relations, 'grantee' as const] : relations
}

/** An allocation as its grantees see it. */
export const grantedKind: Kind<Granted> = {
  ...allocationKind,
  placeOf: (row, actor) => ({ ...allocationKind.placeOf(row, actor), relations: relationsOf(row, actor) }),
}

/** One grant on it, which a decision names besides the allocation. */
export const accessGrantKind: Kind<Granted & { readonly grant_id: string }> = {
  type: 'access_grant',
  missing: 'access_grant_not_found',
  placeOf: (row, actor) => ({
    id: row.grant_id,
    tenant_id: row.org_id,
    project_id: row.project_id,
    relations: relationsOf(row, actor),
  }),
}

/** By what policy says now: one that counts and whose key is of another kind lets nobody in. */
const withheldBy = ({ state, withheld, key_type }: ToldGrant, key_rule: KeyRule): AccessGrant['withheld'] =>
  withheld ?? (state === 'active' && !opensWith(key_rule, key_type) ? 'key_kind_not_allowed' : null)

export const shown = (told: ToldGrant, key_rule: KeyRule): AccessGrant => {
  const { sync_status, sync_since, sync_generation, sync_task_id, ...grant } = told
  return {
    ...grant,
    withheld: withheldBy(told, key_rule),
    runtime_sync: {
      status: sync_status,
      since: sync_since,
      generation: sync_generation,
      ...(sync_task_id === null ? {} : { task_id: sync_task_id }),
    },
  }
}

/** Who ended it, where that was somebody: columns hold people and machines, not the product's own doings. */
export const endedBy = ({ type, id }: Actor): string | null => (type === 'user' || type === 'service_account' ? id : null)

/** Where an event of a grant's is recorded, and what it says: which key, by its fingerprint, and which task tells the node. */
export const recordedGrant = (
  { org_id, project_id }: Pick<AllocationRow, 'org_id' | 'project_id'>,
  { id, allocation_id, grantee_user_id, ssh_key_id, key_type, fingerprint, expires_at }: KnownGrant,
  { generation, task_id }: Synced,
  more: object,
) => ({
  resource_type: 'access_grant',
  resource_id: id,
  tenant_id: org_id,
  project_id,
  metadata: {
    allocation_id,
    project_id,
    grantee_user_id,
    ssh_key_id,
    key_type,
    fingerprint,
    expires_at,
    sync_task_id: task_id,
    generation,
    ...more,
  },
})
