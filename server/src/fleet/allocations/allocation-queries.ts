import { type AllocationState, ShownAllocation } from '@gatehouse/contract/allocations'
import { Exactly, Id, Instant, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { AllocationRow, WaitingRow } from './allocation.ts'

type Proof = Authorized<Action, object>
const Only = Exactly({ id: Id('allocation') })

export const findAllocation = (id: string) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations where id = ${id}`

/** Whoever changes an allocation, or sends its node something about it, does it alone. */
export const lockAllocation = (id: string) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations where id = ${id} for no key update`

/** In the order of their ids, like everybody. */
export const lockAllocations = (ids: readonly string[]) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations where id = any(${ids}::uuid[]) order by id for no key update`

/** Those of which somebody may be let in on a node, now or soon. Of a whole organization where no project is named. */
export const lockPlacedIn = (org_id: string, project_id: string | null) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations
   where org_id = ${org_id} and (${project_id}::uuid is null or project_id = ${project_id}::uuid) and state in ('provisioning', 'active')
   order by id for no key update`

export const lockOwnedBy = (user_id: string, org_id: string, project_id: string | null) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations
   where owner_user_id = ${user_id} and org_id = ${org_id} and (${project_id}::uuid is null or project_id = ${project_id}::uuid)
   order by id for no key update`

/** Those of which something may still be there. */
export const lockOnNode = (node_id: string) => sql(AllocationRow)`
  select ${columns(AllocationRow)} from allocations where node_id = ${node_id} and cleared_at is null order by id for no key update`

/** What one waits for, from whether any node could ever serve it. */
export const waitsFor = sqlPart(`
  case when a.state <> 'requested' then null
       when exists (select from nodes c where c.status <> 'retired' and c.region = a.region and c.sku = a.sku and c.gpus >= a.gpus) then 'free_gpus'
       else 'suitable_node' end as waits_for`)

export const allocationsIn = (project_id: string, state: AllocationState | undefined, after: string | null, limit: number) => sql(
  WaitingRow,
)`
  select ${columns(AllocationRow, 'a')}, ${waitsFor} from allocations a
   where project_id = ${project_id} and (${state ?? null}::text is null or state = ${state ?? null}::text)
     and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

export interface NewAllocation extends Pick<AllocationRow, 'name' | 'requested_by_type' | 'region' | 'sku' | 'gpus'> {
  readonly id: string
  readonly org_id: string
  readonly project_id: string
  readonly requested_by: string
  readonly owner_user_id: string | null
  readonly shared_runtime_id: string | null
}

export const insertAllocation = (_proof: Authorized<'allocation.create', object>, made: NewAllocation, now: string) => sql(AllocationRow)`
  insert into allocations (id, org_id, project_id, name, requested_by_type, requested_by, owner_user_id, shared_runtime_id, region, sku, gpus, state_since, epoch, created_at)
  select ${made.id}, ${made.org_id}, ${made.project_id}, ${made.name}, ${made.requested_by_type}, ${made.requested_by}, ${made.owner_user_id},
         ${made.shared_runtime_id}::uuid, ${made.region}, ${made.sku}, ${made.gpus}::integer, ${now}::timestamptz, epoch, ${now}::timestamptz
    from installation
  returning ${columns(AllocationRow)}`

export const countRequested = (project_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from allocations where project_id = ${project_id} and state = 'requested'`

interface Move {
  readonly state: AllocationState
  /** Why; what went wrong on an earlier move is over with this one. */
  readonly failure?: string
  /** Nothing of it is left on a node. */
  readonly is_cleared?: boolean
}

/** GPUs are another's again in the statement that says that nothing is left of it, so that nobody can forget it. */
const freed = sqlPart(`
  freed as (
    update allocation_devices d set released_at = m.cleared_at from moved m
     where d.allocation_id = m.id and m.cleared_at is not null and d.released_at is null)`)

/** Only from the state in which it was found. */
export const moveAllocation = (_proof: Proof, from: AllocationRow, { state, failure, is_cleared = false }: Move, now: string) => sql(
  AllocationRow,
)`
  with moved as (
    update allocations
       set state = ${state}, state_since = ${now}, failure = ${failure ?? null},
           cleared_at = case when ${is_cleared} then ${now}::timestamptz end
     where id = ${from.id} and state = ${from.state}
    returning *),
  ${freed}
  select ${columns(AllocationRow)} from moved`

export const setCleared = (_proof: Proof, id: string, now: string) => sql(AllocationRow)`
  with moved as (update allocations set cleared_at = ${now} where id = ${id} and cleared_at is null returning *), ${freed}
  select ${columns(AllocationRow)} from moved`

/** Nobody has said that nothing is left of it, and nobody will. */
export const setAbandoned = (_proof: Proof, id: string) => sql(Only)`
  update allocations set is_abandoned = true where id = ${id} returning id`

export const setOwner = (_proof: Proof, ids: readonly string[], owner_user_id: string | null) => sql(AllocationRow)`
  update allocations set owner_user_id = ${owner_user_id} where id = any(${ids}::uuid[]) returning ${columns(AllocationRow)}`

/**
 * The next one. After a restore it goes on far beyond what a node may have seen of the time that was lost: otherwise a set that is new
 * here would be old there.
 */
export const nextGeneration = (_proof: Proof, id: string) => sql(AllocationRow)`
  update allocations a set generation = a.generation + 1 + (i.epoch - a.epoch) * 1000000000::bigint, epoch = i.epoch
    from installation i where a.id = ${id}
  returning ${columns(AllocationRow, 'a')}`

/** Never back, and never beyond what was sent. */
export const confirmGeneration = (_proof: Proof, id: string, generation: number, now: string) => sql(AllocationRow)`
  update allocations set confirmed_generation = ${generation}::bigint, confirmed_at = ${now}
   where id = ${id} and confirmed_generation < ${generation}::bigint and generation >= ${generation}::bigint
  returning ${columns(AllocationRow)}`

/** Whether a set of keys was sent; before that there is nothing to bring up to date. */
export const isSetSent = (id: string) => sql(Exactly({ is_sent: Type.Boolean() }))`
  select exists (select 1 from node_tasks where allocation_id = ${id} and type = 'allocation.install_authorized_keys') as is_sent`

/** Whether the machine that is the node now has said that it made the account, and not since that there is none. */
export const isAccountMade = (id: string) => sql(Exactly({ is_made: Type.Boolean() }))`
  select coalesce((select p.state = 'completed' and not exists (
                            select from node_tasks f
                             where f.allocation_id = p.allocation_id and f.generation > p.generation and f.result ->> 'failure' = 'no_such_account')
                     from node_tasks p where p.allocation_id = ${id} and p.type = 'allocation.provision_user'
                    order by p.generation desc, p.created_at desc limit 1), false) as is_made`

/** An owner, or somebody who is to be one; locked, so that nobody disables him meanwhile. No row: he is disabled. */
export const shareUser = (user_id: string) => sql(Exactly({ id: Id('user') }))`
  select id from users where id = ${user_id} and disabled_at is null for share`

/** What is known of an allocation beside its row: its own keys, and the latest that its node was asked for. */
export const ShownRow = Exactly({
  ...WaitingRow.properties,
  ssh_key_ids: Type.Array(Id('ssh key')),
  ssh_key_types: Type.Array(Type.String()),
  protocol_version: Nullable(Type.Integer()),
  device_indexes: ShownAllocation.properties.device_indexes,
  ssh: ShownAllocation.properties.ssh,
  task_id: Nullable(Id('node task')),
  task_failed_at: Nullable(Instant),
  task_created_at: Nullable(Instant),
  /** The node was asked for more than the account: for a set of keys, or for the end of all. */
  is_access_asked: Type.Boolean(),
  /** When its node went for good, before it had put it away. */
  abandoned_at: Nullable(Instant),
  /** What was confirmed was so before a restore: it says nothing of what the node has now. */
  is_of_earlier_epoch: Type.Boolean(),
})
export type ShownRow = Static<typeof ShownRow>

const latestTask = sqlPart(`
  left join lateral (select id, state, created_at, reported_at from node_tasks where allocation_id = a.id order by generation desc, id desc limit 1) t on true`)

/** Of an allocation `a`: the GPUs that it has. */
const deviceIndexes = sqlPart(`
  (select array_agg(d.device_index order by d.device_index) from allocation_devices d where d.allocation_id = a.id and d.released_at is null)`)

/** `asker` owns it, or has a grant that counts: they are told where to log in. A machine without host keys is told to nobody: no client could know it. */
export const shownAllocation = (id: string, asker: string | null, now: string) => sql(ShownRow)`
  select ${columns(AllocationRow, 'a')},
         array(select e.ssh_key_id::text from allocation_ssh_public_keys e where e.allocation_id = a.id and e.ended_at is null
                order by e.ssh_key_id) as ssh_key_ids,
         array(select k.key_type from allocation_ssh_public_keys e join ssh_public_keys k on k.id = e.ssh_key_id
                where e.allocation_id = a.id and e.ended_at is null order by e.ssh_key_id) as ssh_key_types,
         n.protocol_version,
         ${waitsFor},
         ${deviceIndexes} as device_indexes,
         case when a.state in ('provisioning', 'active') and n.ssh_host is not null and n.ssh_host_keys <> '{}'
               and (a.owner_user_id = ${asker}::uuid
                    or exists (select from allocation_access_grants g
                                where g.allocation_id = a.id and g.grantee_user_id = ${asker}::uuid and g.ended_at is null
                                  and g.epoch = i.epoch and (g.expires_at is null or g.expires_at > ${now})))
              then jsonb_build_object('host', n.ssh_host, 'port', n.ssh_port, 'host_keys', to_jsonb(n.ssh_host_keys)) end as ssh,
         t.id as task_id, case when t.state = 'failed' then t.reported_at end as task_failed_at, t.created_at as task_created_at,
         exists (select 1 from node_tasks s where s.allocation_id = a.id and s.type <> 'allocation.provision_user') as is_access_asked,
         case when a.is_abandoned then n.retired_at end as abandoned_at, a.epoch < i.epoch and a.cleared_at is null as is_of_earlier_epoch
    from allocations a cross join installation i left join nodes n on n.id = a.node_id ${latestTask}
   where a.id = ${id}`

/** Policy says something else of the sessions of those that are placed there; in the order of their ids, like everybody. */
export const markTermsDue = (
  _proof: Proof,
  { org_id, project_id }: { org_id: string | null; project_id: string | null },
  now: string,
) => sql(Only)`
  with placed as (
    select id from allocations
     where state in ('provisioning', 'active') and (${org_id}::uuid is null or org_id = ${org_id}::uuid)
       and (${project_id}::uuid is null or project_id = ${project_id}::uuid)
     order by id for no key update)
  update allocations a set terms_due_at = coalesce(a.terms_due_at, ${now}) from placed where a.id = placed.id
  returning a.id`

export const allocationsDue = (limit: number) => sql(Only)`
  select id from allocations where terms_due_at is not null order by id limit ${limit}`

/** No row: somebody else has seen to it. */
export const clearTermsDue = (_proof: Proof, id: string) => sql(Only)`
  update allocations set terms_due_at = null where id = ${id} and terms_due_at is not null returning id`

/** A node that could not, or that says it has something later and does not say what, is asked again a minute later, then less often. */
const isPauseOver = `
  t.reported_at < now() - make_interval(secs => (
    select least(300, 60 * 2 ^ least(count(*) - 1, 10)) from node_tasks r
     where r.allocation_id = a.id and r.generation > a.confirmed_generation and r.reported_at is not null))`

/**
 * The node owes something that it is not asked for any more: the task was over before it was done, or failed a while ago, or was of a
 * time before a restore. That an account could not be ended is owed too: somebody who has left may be in it.
 */
const owed = sqlPart(`
  (a.state in ('provisioning', 'active', 'releasing', 'release_failed') or (a.state = 'failed' and a.cleared_at is null and a.node_id is not null))
  and (a.epoch < i.epoch
       or exists (select 1 from allocation_ssh_public_keys e where e.allocation_id = a.id and e.ended_at is null and e.epoch < i.epoch)
       or (a.confirmed_generation < a.generation
           and not exists (select 1 from node_tasks q where q.allocation_id = a.id and q.state in ('queued', 'dispatched'))
           and (t.state = 'expired' or (t.state = 'superseded' and t.reported_at is null) or ${isPauseOver})))`)

export const allocationsOwed = (limit: number) => sql(Only)`
  select a.id from allocations a cross join installation i ${latestTask}
   where ${owed} order by a.id limit ${limit}`

/** The same of one that is locked by now. */
export const isOwed = (id: string) => sql(Exactly({ is_owed: Type.Boolean() }))`
  select exists (select 1 from allocations a cross join installation i ${latestTask} where a.id = ${id} and ${owed}) as is_owed`
