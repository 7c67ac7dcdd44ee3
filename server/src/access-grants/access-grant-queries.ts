import { type EndCause, endCauses } from '@gatehouse/contract/access-grants'
import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import type { Authorized } from '../authz/authorize.ts'
import { sql, sqlPart } from '../db/statement.ts'

const Made = Exactly({ id: Type.String() })

/** The allocation, and the proof that somebody may be let in there. */
type Giving = Authorized<'project.access_grant.manage' | 'tenant.access_grant.manage', { readonly id: string; readonly project_id: string }>
/** The same for taking access back: somebody's own, or by a cascade. */
type Ending = Authorized<'project.access_grant.manage' | 'tenant.access_grant.manage' | 'project.access_grant.revoke_own', object>

/** A grant as it is told, but for its `runtime_sync`, which is flat here. */
export const ToldGrant = Exactly({
  id: Type.String(),
  allocation_id: Type.String(),
  project_id: Type.String(),
  grantee_user_id: Type.String(),
  ssh_key_id: Type.String(),
  key_type: Type.String(),
  fingerprint: Type.String(),
  state: OneOf(['active', 'ending', 'revoked', 'expired']),
  expires_at: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  created_at: Type.String(),
  created_by: Type.String(),
  updated_at: Type.String(),
  ended_at: Nullable(Type.String()),
  ended_by: Nullable(Type.String()),
  end_cause: Nullable(OneOf(endCauses)),
  sync_status: OneOf(['pending', 'applied', 'failed']),
  sync_since: Type.String(),
  sync_generation: Nullable(Type.Integer()),
  sync_task_id: Nullable(Type.String()),
})
export type ToldGrant = Static<typeof ToldGrant>

/**
 * What can be said of each grant at this instant, in steps: whether the right is over (also where nobody has ended it yet), in which set of
 * keys its latest change is, whether the node has confirmed that set, and what this comes to. A grant that has no generation was in no set
 * that was changed for its sake: while it counts, it is in the first one that was sent at all; when it has ended, it never was on a node.
 */
const told = sqlPart(`
    from allocation_access_grants g
    join ssh_public_keys k on k.id = g.ssh_key_id
    join allocations a on a.id = g.allocation_id
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
                 when w.is_of_allocation then a.cleared_at is not null and a.failure is distinct from 'node_retired'
                 when w.is_over and g.ended_at is null then false
                 else coalesce(a.confirmed_generation >= w.generation, false) end as is_applied,
            case when w.is_of_allocation and w.generation is not null then a.generation else w.generation end as generation
   ) as s
    left join lateral (
     select t.state, t.reported_at from node_tasks t
      where t.allocation_id = g.allocation_id and t.generation >= s.generation
      order by t.generation desc limit 1
   ) as latest on not s.is_applied
    left join lateral (
     select min(t.reported_at) as at from node_tasks t
      where t.allocation_id = g.allocation_id
        and coalesce((t.result -> 'receipt' ->> 'applied_generation')::bigint, case t.state when 'completed' then t.generation end) >= s.generation
   ) as confirmed on s.is_applied and not w.is_of_allocation
   cross join lateral (
     select case when not w.is_over then 'active' when not s.is_applied then 'ending' when w.end_cause = 'expired' then 'expired'
                 else 'revoked' end as state,
            case when s.is_applied then 'applied' when latest.state = 'failed' or a.failure = 'node_retired' then 'failed'
                 else 'pending' end as sync_status
   ) as n`)

const toldColumns = sqlPart(`
  g.id, g.allocation_id, g.project_id, g.grantee_user_id, g.ssh_key_id, k.key_type, k.fingerprint, n.state, g.expires_at, g.reason,
  g.created_at, g.created_by, g.updated_at, w.ended_at, g.ended_by, w.end_cause, n.sync_status,
  case n.sync_status
    when 'applied' then case when s.generation is null then w.ended_at when w.is_of_allocation then a.cleared_at
                             else coalesce(confirmed.at, a.confirmed_at) end
    when 'failed' then coalesce(latest.reported_at, a.state_since)
    else coalesce(w.ended_at, g.updated_at) end as sync_since,
  s.generation as sync_generation,
  (select t.id from node_tasks t where t.allocation_id = g.allocation_id and t.generation = s.generation
    order by t.created_at desc, t.id desc limit 1) as sync_task_id`)

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

/** Whether somebody was ever given access there. */
export const anyGrantOf = (allocation_id: string, user_id: string) => sql(Made)`
  select id from allocation_access_grants where allocation_id = ${allocation_id} and grantee_user_id = ${user_id} limit 1`

const Grantee = Exactly({ grantee_user_id: Type.String() })
export const granteeOf = (allocation_id: string, grant_id: string) => sql(Grantee)`
  select grantee_user_id from allocation_access_grants where id = ${grant_id} and allocation_id = ${allocation_id}`

/** Of the project, of the organization that owns it, and not disabled. */
export const activeMember = (project_id: string, user_id: string) => sql(Made)`
  select u.id from users u
    join projects p on p.id = ${project_id}
    join tenant_memberships t on t.tenant_id = p.org_id and t.user_id = u.id and t.deleted_at is null
    join project_memberships m on m.project_id = p.id and m.user_id = u.id and m.deleted_at is null
   where u.id = ${user_id} and u.disabled_at is null`

const OpenGrant = Exactly({ id: Type.String(), expires_at: Nullable(Type.String()), is_over: Type.Boolean() })

/** The one that nobody has ended yet, whether or not its right is over. */
export const openGrant = (allocation_id: string, grantee_user_id: string, ssh_key_id: string) => sql(OpenGrant)`
  select g.id, g.expires_at, g.epoch <> i.epoch or coalesce(g.expires_at <= transaction_timestamp(), false) as is_over
    from allocation_access_grants g cross join installation i
   where g.allocation_id = ${allocation_id} and g.grantee_user_id = ${grantee_user_id} and g.ssh_key_id = ${ssh_key_id} and g.ended_at is null`

export const countActiveGrants = (allocation_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from allocation_access_grants g cross join installation i
   where g.allocation_id = ${allocation_id} and g.ended_at is null and g.epoch = i.epoch
     and (g.expires_at is null or g.expires_at > transaction_timestamp())`

export interface NewGrant {
  readonly id: string
  readonly grantee_user_id: string
  readonly ssh_key_id: string
  readonly expires_at: string | null
  readonly reason: string | null
}

export const insertGrant = (
  allocation: Giving,
  { id, grantee_user_id, ssh_key_id, expires_at, reason }: NewGrant,
  by: string,
  now: string,
) => sql(Made)`
  insert into allocation_access_grants
         (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, expires_at, reason, created_at, created_by, updated_at)
  select ${id}, ${allocation.id}, ${allocation.project_id}, ${grantee_user_id}, ${ssh_key_id}, i.epoch, ${expires_at}, ${reason}, ${now}, ${by}, ${now}
    from installation i
  returning id`

export const moveEnd = (_allocation: Giving, id: string, expires_at: string | null, reason: string | null, now: string) => sql(Made)`
  update allocation_access_grants set expires_at = ${expires_at}, reason = coalesce(${reason}, reason), updated_at = ${now}
   where id = ${id} and ended_at is null
  returning id`

/** In which set the latest change of a grant is; null while nothing has been sent. */
export const setGeneration = (_allocation: Giving, id: string, generation: number | null) => sql(Made)`
  update allocation_access_grants set generation = ${generation}::bigint where id = ${id} returning id`

/**
 * Of several that have just ended: gone with that generation or, where nothing was sent for it, with what the node was told last. One that
 * was in no set at all has none.
 */
export const setEndGenerations = (_proof: Ending, ids: readonly string[], generation: number | null) => sql(Made)`
  update allocation_access_grants g
     set generation = (
           select coalesce(${generation}::bigint, a.generation) from allocations a
            where a.id = g.allocation_id and exists (
              select from node_tasks t where t.allocation_id = a.id and t.type = 'allocation.install_authorized_keys'))
   where g.id = any (${ids}::uuid[])
  returning g.id`

const EndedGrant = Exactly({
  id: Type.String(),
  allocation_id: Type.String(),
  grantee_user_id: Type.String(),
  ssh_key_id: Type.String(),
  key_type: Type.String(),
  fingerprint: Type.String(),
  expires_at: Nullable(Type.String()),
  end_cause: OneOf(endCauses),
})
export type EndedGrant = Static<typeof EndedGrant>
const endedColumns = sqlPart('g.id, g.allocation_id, g.grantee_user_id, g.ssh_key_id, k.key_type, k.fingerprint, g.expires_at, g.end_cause')

/** Those of a person, or with a key, or one of them; what is not said does not matter. */
export interface Picked {
  readonly grant_id?: string
  readonly user_id?: string
  readonly ssh_key_id?: string
}

export interface GrantsEnd {
  /** Null: the product itself. */
  readonly by: string | null
  readonly cause: EndCause
  readonly now: string
}

export const endGrants = (
  _proof: Ending,
  allocation_ids: readonly string[],
  { grant_id = undefined, user_id = undefined, ssh_key_id = undefined }: Picked,
  { by, cause, now }: GrantsEnd,
) => sql(EndedGrant)`
  update allocation_access_grants g set ended_at = ${now}, ended_by = ${by}, end_cause = ${cause}, updated_at = ${now}
    from ssh_public_keys k
   where g.allocation_id = any (${allocation_ids}::uuid[]) and g.ended_at is null and k.id = g.ssh_key_id
     and (${grant_id ?? null}::uuid is null or g.id = ${grant_id ?? null}::uuid)
     and (${user_id ?? null}::uuid is null or g.grantee_user_id = ${user_id ?? null}::uuid)
     and (${ssh_key_id ?? null}::uuid is null or g.ssh_key_id = ${ssh_key_id ?? null}::uuid)
  returning ${endedColumns}`

/** Those whose time is over, and those from before a backup was restored: some of them may have been revoked since it was made. */
export const endOverdueGrants = (_proof: Ending, allocation_id: string, now: string) => sql(EndedGrant)`
  update allocation_access_grants g
     set ended_at = ${now}, end_cause = case when g.epoch <> i.epoch then 'backup_restored' else 'expired' end, updated_at = ${now}
    from ssh_public_keys k, installation i
   where g.allocation_id = ${allocation_id} and g.ended_at is null and k.id = g.ssh_key_id
     and (g.epoch <> i.epoch or g.expires_at <= transaction_timestamp())
  returning ${endedColumns}`

/** Where something is overdue. */
export const allocationsOverdue = (limit: number) => sql(Made)`
  select g.allocation_id as id from allocation_access_grants g
   where g.ended_at is null and g.expires_at <= transaction_timestamp()
   union
  select g.allocation_id from allocation_access_grants g cross join installation i
   where g.ended_at is null and g.epoch <> i.epoch
   order by id limit ${limit}`

interface Where {
  /** Null: everywhere. */
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** Where a person has access, by a grant or by a key among the allocation's own. */
export const allocationsOpenTo = (user_id: string, { tenant_id, project_id }: Where) => sql(Made)`
  select a.id from allocations a
   where a.id in (
           select g.allocation_id from allocation_access_grants g where g.grantee_user_id = ${user_id} and g.ended_at is null
            union
           select e.allocation_id from allocation_ssh_public_keys e join ssh_public_keys k on k.id = e.ssh_key_id
            where k.user_id = ${user_id} and e.ended_at is null)
     and (${tenant_id}::uuid is null or a.org_id = ${tenant_id}::uuid)
     and (${project_id}::uuid is null or a.project_id = ${project_id}::uuid)
   order by a.id`

export const allocationsOpenWith = (ssh_key_id: string) => sql(Made)`
  select g.allocation_id as id from allocation_access_grants g where g.ssh_key_id = ${ssh_key_id} and g.ended_at is null
   union
  select e.allocation_id from allocation_ssh_public_keys e where e.ssh_key_id = ${ssh_key_id} and e.ended_at is null
   order by id`

/** One that is not over. */
export const anyAllocationOwnedBy = (project_id: string, user_id: string) => sql(Made)`
  select id from allocations
   where project_id = ${project_id} and owner_user_id = ${user_id} and state in ('requested', 'provisioning', 'active') limit 1`
