import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import { contributionPolicies } from '@gatehouse/contract/shared-runtimes'
import Type from 'typebox'
import { AllocationRow, WaitingRow } from '#fleet/allocations/allocation.ts'
import { waitsFor } from '#fleet/allocations/allocation-queries.ts'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'

/** Of attached projects, as far as each contributes; by what the allocation's own row says of where it belongs. */
const contributed = sqlPart(`
  join shared_runtime_attachments t on t.project_id = a.project_id and t.org_id = a.org_id and t.detached_at is null
   and (t.contribution_policy = 'all' or (t.contribution_policy = 'tagged' and a.shared_runtime_id = t.shared_runtime_id))`)

export const contributedTo = (shared_runtime_id: string, after: string | null, limit: number) => sql(WaitingRow)`
  select ${columns(AllocationRow, 'a')}, ${waitsFor} from allocations a ${contributed}
   where t.shared_runtime_id = ${shared_runtime_id} and (${after}::uuid is null or a.id > ${after}::uuid)
   order by a.id limit ${limit}`

export const contributedAmong = (shared_runtime_id: string, allocation_ids: readonly string[]) => sql(AllocationRow)`
  select ${columns(AllocationRow, 'a')} from allocations a ${contributed}
   where t.shared_runtime_id = ${shared_runtime_id} and a.id = any(${allocation_ids}::uuid[])`

/** Of these, those of the tenant, contributed or not. */
export const ownAmong = (org_id: string, allocation_ids: readonly string[]) => sql(
  Exactly({ id: Type.String(), project_id: Type.String() }),
)`
  select id, project_id from allocations where org_id = ${org_id} and id = any(${allocation_ids}::uuid[]) order by id`

/** A runtime of the tenant, and what the project contributes to it; null: it is not attached. */
export const shareInRuntime = (shared_runtime_id: string, org_id: string, project_id: string) => sql(
  Exactly({ state: Type.String(), contribution_policy: Nullable(OneOf(contributionPolicies)) }),
)`
  select r.state, t.contribution_policy from shared_app_runtimes r
    left join shared_runtime_attachments t on t.shared_runtime_id = r.id and t.project_id = ${project_id} and t.detached_at is null
   where r.id = ${shared_runtime_id} and r.org_id = ${org_id} and r.state <> 'deleted'`
