import { SshSession } from '@gatehouse/contract/node-events'
import { KeyHolder } from '@gatehouse/contract/node-tasks'
import { Exactly, Id, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

type Proof = Authorized<'node.task.report', object>

const { end, ...told } = SshSession.properties
export const SessionRow = Exactly({ id: Id('ssh session'), ...told, end_cause: end })
export type SessionRow = Static<typeof SessionRow>

const Event = Exactly({ event_id: Id('node event') })

/**
 * Those that nobody had told before. Whoever tells the same at the same time waits for the first to commit and then finds it there; in one
 * order, so that two of them do not wait for each other.
 */
export const noteEvents = (_proof: Proof, node_id: string, event_ids: readonly string[], now: string) => sql(Event)`
  insert into node_events (node_id, event_id, told_at)
  select ${node_id}, e.id, ${now} from (select distinct unnest(${event_ids}::uuid[]) as id) e order by e.id
  on conflict do nothing
  returning event_id`

/** Longer than an agent keeps anything to be told. */
export const forgetEvents = (now: string, most: number) => sql(Exactly({ count: Type.Integer() }))`
  with old as (
    select node_id, event_id from node_events where told_at < ${now}::timestamptz - interval '90 days' order by told_at limit ${most}::int),
  gone as (delete from node_events n using old o where (n.node_id, n.event_id) = (o.node_id, o.event_id) returning 1)
  select count(*)::int as count from gone`

/**
 * Who held the key in the set that was in force. An end has the number of the set that took the key away: then it is the last one before
 * in which it was. What was never sent let nobody in.
 */
export const holdersThen = (allocation_id: string, node_id: string, fingerprint: string, generation: number) => sql(
  Exactly({ holders: Type.Array(KeyHolder) }),
)`
  select k -> 'holders' as holders
    from node_tasks t cross join lateral jsonb_array_elements(t.params -> 'keys') k
   where t.allocation_id = ${allocation_id} and t.node_id = ${node_id} and t.type = 'allocation.install_authorized_keys'
     and t.generation <= ${generation}::bigint and t.dispatched_at is not null and k ->> 'fingerprint' = ${fingerprint}
   order by t.generation desc, t.dispatched_at desc limit 1`

/**
 * Whether a key could open something at that time: it was in the last set that the node had confirmed by then, or in one that was sent
 * after it and may have been in force. With the last number that was sent: a node cannot know of a later one.
 */
export const sentThere = (allocation_id: string, node_id: string, fingerprint: string | null, at: string) => sql(
  Exactly({ last: Nullable(Type.Integer()), is_in_force: Type.Boolean() }),
)`
  select (select max(t.generation) from node_tasks t
           where t.allocation_id = ${allocation_id} and t.node_id = ${node_id} and t.dispatched_at is not null) as last,
         exists (
           select from node_tasks t cross join lateral jsonb_array_elements(t.params -> 'keys') k
            where t.allocation_id = ${allocation_id} and t.node_id = ${node_id} and t.dispatched_at is not null
              and k ->> 'fingerprint' = ${fingerprint}
              and t.generation >= coalesce((
                    select max(c.generation) from node_tasks c
                     where c.allocation_id = ${allocation_id} and c.node_id = ${node_id}
                       and c.result ->> 'outcome' = 'completed' and c.reported_at <= ${at}::timestamptz), 0)) as is_in_force`

export const findSession = (node_id: string, session_id: string) => sql(SessionRow)`
  select ${columns(SessionRow)} from ssh_sessions where node_id = ${node_id} and session_id = ${session_id}`

type Opened = Pick<SessionRow, 'id' | 'node_id' | 'session_id' | 'allocation_id' | 'fingerprint' | 'user_ids' | 'grant_ids'>
interface Beginning extends Opened {
  readonly started_at: string
  readonly source_ip: string | null
}
interface Ending extends Opened {
  readonly ended_at: string
  readonly end_cause: NonNullable<SessionRow['end_cause']>
  readonly processes_ended: number | null
  readonly may_have_left_processes: boolean | null
}

/** No row: it was known to have begun, or is another's. Nothing ends before it began: where a node's clock was put back, it ended as it began. */
export const beginSession = (_proof: Proof, s: Beginning) => sql(SessionRow)`
  insert into ssh_sessions as s (id, node_id, session_id, allocation_id, fingerprint, user_ids, grant_ids, source_ip, started_at)
  values (${s.id}, ${s.node_id}, ${s.session_id}, ${s.allocation_id}, ${s.fingerprint}, ${s.user_ids}::uuid[], ${s.grant_ids}::uuid[],
          ${s.source_ip}, ${s.started_at})
  on conflict (node_id, session_id) do update
     set started_at = excluded.started_at, source_ip = excluded.source_ip,
         ended_at = case when s.ended_at is not null then greatest(s.ended_at, excluded.started_at) end
   where s.started_at is null and (s.allocation_id, s.fingerprint) = (excluded.allocation_id, excluded.fingerprint)
  returning ${columns(SessionRow, 's')}`

/**
 * The first end that is told of counts. One that comes after it counts for what it adds: which processes were ended that had outlived the
 * connection. No row: it adds nothing, or is another's.
 */
export const endSession = (_proof: Proof, s: Ending) => sql(SessionRow)`
  insert into ssh_sessions as s (id, node_id, session_id, allocation_id, fingerprint, user_ids, grant_ids, ended_at, end_cause, processes_ended,
                                 may_have_left_processes)
  values (${s.id}, ${s.node_id}, ${s.session_id}, ${s.allocation_id}, ${s.fingerprint}, ${s.user_ids}::uuid[], ${s.grant_ids}::uuid[],
          ${s.ended_at}, ${s.end_cause}, ${s.processes_ended}::int, ${s.may_have_left_processes}::boolean)
  on conflict (node_id, session_id) do update
     set ended_at = coalesce(s.ended_at, greatest(excluded.ended_at, s.started_at)), end_cause = coalesce(s.end_cause, excluded.end_cause),
         processes_ended = excluded.processes_ended, may_have_left_processes = excluded.may_have_left_processes
   where (s.ended_at is null or (s.processes_ended is null and excluded.processes_ended is not null))
     and (s.allocation_id, s.fingerprint) = (excluded.allocation_id, excluded.fingerprint)
  returning ${columns(SessionRow, 's')}`

export const sessionsOn = (allocation_id: string, before: string | null, limit: number) => sql(SessionRow)`
  select ${columns(SessionRow)} from ssh_sessions
   where allocation_id = ${allocation_id} and (${before}::uuid is null or id < ${before}::uuid) order by id desc limit ${limit}`
