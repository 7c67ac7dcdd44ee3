import { AccessGrant } from '@gatehouse/contract/access-grants'
import { RuntimeSync } from '@gatehouse/contract/allocations'
import { Exactly, Id, Instant, Nullable } from '@gatehouse/contract/shapes'
import type { Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'

/** A grant as it is told, but for its `runtime_sync`, which is flat here. */
const { runtime_sync: _, ...properties } = AccessGrant.properties
const ToldGrant = Exactly({
  ...properties,
  sync_status: RuntimeSync.properties.status,
  sync_since: Instant,
  sync_generation: RuntimeSync.properties.generation,
  sync_task_id: Nullable(Id('node task')),
})
export type ToldGrant = Static<typeof ToldGrant>

/**
 * What can be said of each grant at this instant, in steps: whether the right is over (also where nobody has ended it yet), in which set of
 * keys its latest change is, whether the node has confirmed that set or a later one (which is told then), and what this comes to. A grant
 * that has no generation was in no set that was changed for its sake: while it counts, it is in the first one that was sent at all; when it
 * has ended, it never was on a node.
 */
const told = sqlPart(`
    from allocation_access_grants g
    join ssh_public_keys k on k.id = g.ssh_key_id
    join allocations a on a.id = g.allocation_id
    join projects p on p.id = a.project_id
    join organizations o on o.id = a.org_id
   cross join installation i
   cross join lateral (
     select g.ended_at is not null or g.epoch <> i.epoch or coalesce(g.expires_at <= transaction_timestamp(), false) as is_over,
            coalesce(g.ended_at, case when g.expires_at <= transaction_timestamp() then g.expires_at end) as ended_at,
            coalesce(g.end_cause, case when g.epoch <> i.epoch then 'backup_restored'
                                       when g.expires_at <= transaction_timestamp() then 'expired' end) as end_cause,
            coalesce(g.end_cause in ('allocation_released', 'allocation_failed', 'node_retired'), false) as is_of_allocation,
            coalesce(g.generation, case when g.ended_at is null then (
              select min(t.generation) from node_tasks t
               where t.allocation_id = g.allocation_id and t.type = 'allocation.install_authorized_keys') end) as generation
   ) as w
   cross join lateral (
     select case when w.is_over and w.generation is null then true
                 when w.is_of_allocation then a.cleared_at is not null and not a.is_abandoned
                 when w.is_over and g.ended_at is null then false
                 -- What was confirmed before a restore says nothing of what the node has now, until it is asked again.
                 else coalesce(a.confirmed_generation >= w.generation and (w.is_over or a.terms_due_at is null) and (a.epoch = i.epoch or a.cleared_at is not null), false) end as is_applied,
            case when w.is_of_allocation and w.generation is not null then a.generation else w.generation end as generation
   ) as s
    left join lateral (
     select t.state, t.reported_at from node_tasks t
      where t.allocation_id = g.allocation_id and t.generation >= s.generation
      order by t.generation desc, t.id desc limit 1
   ) as latest on not s.is_applied
    left join lateral (
     select t.reported_at as at, c.generation from node_tasks t
      cross join lateral (
        select coalesce((t.result -> 'receipt' ->> 'applied_generation')::bigint, case t.state when 'completed' then t.generation end) as generation) c
      where t.allocation_id = g.allocation_id and c.generation between s.generation and a.confirmed_generation
      order by t.reported_at, t.id limit 1
   ) as confirmed on s.is_applied and not w.is_of_allocation
   cross join lateral (
     select case when not w.is_over then 'active' when not s.is_applied then 'ending' when w.end_cause = 'expired' then 'expired'
                 else 'revoked' end as state,
            case when s.is_applied then 'applied' when latest.state = 'failed' or a.is_abandoned then 'failed'
                 else 'pending' end as sync_status,
            case when w.is_over then null
                 when o.state <> 'active' or o.deleted_at is not null then 'organization_suspended'
                 when p.state <> 'active' then 'project_archived' end as withheld,
            coalesce(confirmed.generation, s.generation) as generation
   ) as n`)

const toldColumns = sqlPart(`
  g.id, g.allocation_id, g.project_id, g.grantee_user_id, g.ssh_key_id, k.key_type, k.fingerprint, n.state, n.withheld, g.expires_at, g.reason,
  g.created_at, g.created_by, g.updated_at, w.ended_at, g.ended_by, w.end_cause, n.sync_status,
  case n.sync_status
    when 'applied' then case when s.generation is null then coalesce(w.ended_at, g.updated_at) when w.is_of_allocation then a.cleared_at
                             else coalesce(confirmed.at, a.confirmed_at) end
    when 'failed' then coalesce(latest.reported_at, a.state_since)
    else coalesce(w.ended_at, greatest(g.updated_at, (
      select min(t.created_at) from node_tasks t where t.allocation_id = g.allocation_id and t.generation = s.generation))) end as sync_since,
  n.generation as sync_generation,
  (select t.id from node_tasks t where t.allocation_id = g.allocation_id and t.generation = n.generation
    order by t.reported_at is not null desc, t.created_at desc, t.id desc limit 1) as sync_task_id`)

export const toldGrant = (grant_id: string) => sql(ToldGrant)`
  select ${toldColumns} ${told} where g.id = ${grant_id}`

interface Listing {
  readonly allocation_id: string
  /** Whose; null: everybody's. */
  readonly grantee_user_id: string | null
  readonly state: string | null
}

export const grantsOn = ({ allocation_id, grantee_user_id, state }: Listing, after: string | null, limit: number) => sql(ToldGrant)`
  select ${toldColumns} ${told}
   where g.allocation_id = ${allocation_id}
     and (${grantee_user_id}::uuid is null or g.grantee_user_id = ${grantee_user_id}::uuid)
     and (${state}::text is null or n.state = ${state}::text)
     and (${after}::uuid is null or g.id > ${after}::uuid)
   order by g.id limit ${limit}`
