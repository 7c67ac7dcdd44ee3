import { type SignedTask, TaskResult } from '@gatehouse/contract/node-tasks'
import { NodeTask } from '@gatehouse/contract/nodes'
import { Exactly, Id, Instant, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

/** A task as its table holds it. */
export const TaskRow = Exactly({
  id: Id('node task'),
  node_id: Id('node'),
  type: Type.String(),
  allocation_id: Nullable(Id('allocation')),
  org_id: Nullable(Id('org')),
  project_id: Nullable(Id('project')),
  params: Type.Record(Type.String(), Type.Unknown()),
  generation: Type.Integer(),
  kid: Type.String(),
  signature: Type.String(),
  state: NodeTask.properties.state,
  created_at: Instant,
  correlation_id: Type.String(),
  expires_at: Instant,
  dispatched_at: Nullable(Instant),
  dispatched_to: Nullable(Type.String()),
  attempts: Type.Integer(),
  reported_at: Nullable(Instant),
  result: Nullable(TaskResult),
})
export type TaskRow = Static<typeof TaskRow>

type Proof = Authorized<Action, object>
const Only = Exactly({ id: Id('node task') })

export interface NewTask extends Pick<TaskRow, 'allocation_id' | 'org_id' | 'project_id'> {
  readonly task: SignedTask
  readonly now: string
  readonly correlation_id: string
}

export const insertTask = (_proof: Proof, { task, allocation_id, org_id, project_id, now, correlation_id }: NewTask) => sql(TaskRow)`
  insert into node_tasks (id, node_id, type, allocation_id, org_id, project_id, params, generation, kid, signature, created_at, correlation_id, expires_at)
  values (${task.task_id}, ${task.node_id}, ${task.type}, ${allocation_id}, ${org_id}, ${project_id}, ${JSON.stringify(task.params)}::jsonb,
          ${task.generation}, ${task.kid}, ${task.signature}, ${now}, ${correlation_id}, ${task.expires_at})
  returning ${columns(TaskRow)}`

/** Of an allocation, those under way of these types give way to a later one. */
export const supersedeTasks = (_proof: Proof, allocation_id: string, types: readonly string[] | null) => sql(Only)`
  update node_tasks set state = 'superseded'
   where allocation_id = ${allocation_id} and state in ('queued', 'dispatched') and (${types}::text[] is null or type = any(${types}::text[]))
  returning id`

export const findTask = (id: string) => sql(TaskRow)`select ${columns(TaskRow)} from node_tasks where id = ${id}`

export const lockTask = (id: string) => sql(TaskRow)`select ${columns(TaskRow)} from node_tasks where id = ${id} for update`

export const latestDispatched = (node_id: string, allocation_id: string) => sql(Exactly({ generation: Type.Integer() }))`
  select coalesce(max(generation), 0) as generation from node_tasks
   where allocation_id = ${allocation_id} and node_id = ${node_id} and dispatched_at is not null`

/** Without its parameters: keys are nobody's business here. */
export const shownTask = (id: string) => sql(NodeTask)`select ${columns(NodeTask)} from node_tasks where id = ${id}`

/** The latest first. */
export const tasksOfNode = (node_id: string, before: string | null, limit: number) => sql(NodeTask)`
  select ${columns(NodeTask)} from node_tasks
   where node_id = ${node_id} and (${before}::uuid is null or id < ${before}::uuid) order by id desc limit ${limit}`

/** A key that no node believes any more has signed nothing that is worth sending. */
const isBelieved = `exists (select 1 from task_signers s, installation i where s.kid = t.kid and s.state in ('active', 'grace') and s.epoch = i.epoch)`

/**
 * What the node is to be given now. Of each allocation the oldest that is open and no other: what comes later may rest on it. What was
 * given before and is not reported is given again: to another run of the agent at once, since that one has lost it; to the same one after a
 * while, longer each time.
 */
const toBeGiven = sqlPart(`
  t.node_id = a.node_id and t.state in ('queued', 'dispatched') and t.expires_at > a.now
  and ${isBelieved}
  and not exists (select 1 from node_tasks e
                   where e.allocation_id = t.allocation_id and e.state in ('queued', 'dispatched') and e.generation < t.generation)
  and (t.dispatched_at is null or t.dispatched_to is distinct from a.run
       or t.dispatched_at + make_interval(secs => least(300, 10 * 2 ^ least(t.attempts - 1, 10))) <= a.now)`)

interface Asking {
  readonly node_id: string
  readonly run: string | null
  readonly now: string
}

export const isTaskThere = ({ node_id, run, now }: Asking) => sql(Exactly({ is_there: Type.Boolean() }))`
  with a as (select ${node_id}::uuid as node_id, ${run}::uuid as run, ${now}::timestamptz as now)
  select exists (select 1 from node_tasks t, a where ${toBeGiven}) as is_there`

/** What ends access goes first. What somebody else has under way at this moment is left to him. */
export const takeTasks = (_proof: Authorized<'node.task.read', object>, { node_id, run, now }: Asking, limit: number) => sql(TaskRow)`
  with a as (select ${node_id}::uuid as node_id, ${run}::uuid as run, ${now}::timestamptz as now),
  taken as (
    select t.id from node_tasks t, a where ${toBeGiven}
     order by t.type = 'allocation.provision_user', t.created_at, t.id limit ${limit} for update of t skip locked),
  given as (
    update node_tasks t set state = 'dispatched', dispatched_at = a.now, dispatched_to = a.run, attempts = t.attempts + 1
      from taken, a where t.id = taken.id
    returning ${columns(TaskRow, 't')})
  select * from given order by type = 'allocation.provision_user', created_at, id`

export const keepResult = (
  _proof: Authorized<'node.task.report', object>,
  id: string,
  { state, result, now }: { state: TaskRow['state']; result: TaskResult; now: string },
) => sql(TaskRow)`
  update node_tasks set state = ${state}, reported_at = ${now}, result = ${JSON.stringify(result)}::jsonb
   where id = ${id} and reported_at is null and dispatched_at is not null
  returning ${columns(TaskRow)}`

const needsRenewal = sqlPart(`
  t.state in ('queued', 'dispatched') and n.id = t.node_id
  and (t.expires_at <= a.now or n.status = 'retired'
       or not ${isBelieved})`)

/** Open tasks that no node would perform any more: their time is over, or nobody believes who signed them. */
export const tasksToRenew = (now: string, limit: number) => sql(TaskRow)`
  with a as (select ${now}::timestamptz as now)
  select ${columns(TaskRow, 't')} from node_tasks t, nodes n, a where ${needsRenewal} order by t.created_at, t.id limit ${limit}`

/** The same for one of them, and whether its node is still one. */
export const lockTaskToRenew = (id: string, now: string) => sql(Exactly({ ...TaskRow.properties, is_node_live: Type.Boolean() }))`
  with a as (select ${now}::timestamptz as now)
  select ${columns(TaskRow, 't')}, n.status <> 'retired' as is_node_live
    from node_tasks t, nodes n, a where t.id = ${id} and ${needsRenewal} for update of t`

export const expireTask = (_proof: Proof, id: string) => sql(Only)`
  update node_tasks set state = 'expired' where id = ${id} and state in ('queued', 'dispatched') returning id`

/** The latest of the allocation’s that the node has answered, whatever it said. */
const lastAnswered = `coalesce((select max(r.generation) from node_tasks r
  where r.allocation_id = t.allocation_id and r.node_id = t.node_id and r.reported_at is not null), -1)`

/**
 * Since when a node owes an answer: since the oldest that was asked of it for this allocation after the last that it has answered. A later
 * set takes the place of the one before, and does not make the waiting shorter.
 */
const waitingSince = sqlPart(`
  least(t.created_at, (select min(e.created_at) from node_tasks e
                        where e.allocation_id = t.allocation_id and e.node_id = t.node_id and e.generation > ${lastAnswered}))`)

/** It was said of the same waiting before, of one whose place this one took. */
const isSaidAlready = sqlPart(`
  exists (select 1 from node_tasks e
           where e.allocation_id = t.allocation_id and e.node_id = t.node_id and e.type = t.type and e.state = 'superseded'
             and e.overdue_noted_at is not null and e.generation > ${lastAnswered})`)

const LateTask = Exactly({ ...TaskRow.properties, waiting_since: Instant })

/** Those that took too long, once each; one that only took the place of another of which it was said is not told of again. */
export const noteOverdue = (_proof: Proof, now: string, overdue_seconds: number, limit: number) => sql(LateTask)`
  with late as (
    select t.id, w.since from node_tasks t, lateral (select ${waitingSince} as since) w
     where t.state in ('queued', 'dispatched') and t.overdue_noted_at is null
       and w.since < ${now}::timestamptz - make_interval(secs => ${overdue_seconds})
     order by t.created_at limit ${limit} for update of t skip locked),
  noted as (
    update node_tasks t set overdue_noted_at = ${now} from late where t.id = late.id
    returning ${columns(TaskRow, 't')}, late.since as waiting_since)
  select * from noted t where not ${isSaidAlready}`

export const countOverdue = (overdue_seconds: number) => sql(Exactly({ overdue: Type.Integer(), open: Type.Integer() }))`
  select (count(*) filter (where ${waitingSince} < now() - make_interval(secs => ${overdue_seconds})))::int as overdue, count(*)::int as open
    from node_tasks t where t.state in ('queued', 'dispatched')`
