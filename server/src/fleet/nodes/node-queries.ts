import { Node, ShownNode } from '@gatehouse/contract/nodes'
import { Exactly, Id, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

type Managed = Authorized<'platform.node.manage', { readonly id: string }>

const heardOf = `coalesce(n.last_seen_at > transaction_timestamp() - interval '90 seconds', false)`
/** Of a node `n`: it has asked for something lately. */
export const isHeardOf = sqlPart(heardOf)

const node = sqlPart(`
  n.id, n.name, n.region, n.sku, n.gpus,
  case when n.status = 'active' and (n.enrolled_at is null or not ${heardOf}) then 'unavailable' else n.status end as status,
  (select coalesce(sum(a.gpus), 0)::int from allocations a where a.node_id = n.id and a.cleared_at is null) as gpus_taken,
  n.created_at, n.enrolled_at, n.last_seen_at, n.agent_version,
  (select max(c.expires_at) from node_certificates c join installation i on i.epoch = c.epoch
    where c.node_id = n.id and c.ended_at is null) as certificate_expires_at,
  n.retired_at`)

export const findNode = (node_id: string) => sql(Node)`
  select ${node} from nodes n where n.id = ${node_id}`

/** With what it says of itself. */
export const shownNode = (node_id: string) => sql(ShownNode)`
  select ${node}, n.protocol_version, n.described_at, n.devices, n.shared_devices, n.ssh_host, n.ssh_port, n.ssh_host_keys, n.stuck_steps,
         (n.stuck_steps -> 0 ->> 'since')::timestamptz as stuck_since
    from nodes n where n.id = ${node_id}`

export const allNodes = (after: string | null, limit: number) => sql(Node)`
  select ${node} from nodes n where ${after}::uuid is null or n.id > ${after}::uuid order by n.id limit ${limit}`

const NodeRow = Exactly({ id: Id('node'), name: Type.String(), status: OneOf(['active', 'drained', 'retired']) })
export type NodeRow = Static<typeof NodeRow>

/** As it is now, for whoever may not lock it yet. */
export const lookAtNode = (node_id: string) => sql(NodeRow)`select id, name, status from nodes where id = ${node_id}`

/** Whoever changes what a node is, or gives it an identity, does it alone. */
export const lockNode = (node_id: string) => sql(NodeRow)`
  select id, name, status from nodes where id = ${node_id} for no key update`

const Written = Exactly({ id: Type.String() })

export interface NewNode {
  readonly id: string
  readonly name: string
  readonly region: string
  readonly sku: string
  readonly gpus: number
}

export const insertNode = (
  _platform: Authorized<'platform.node.manage', object>,
  { id, name, region, sku, gpus }: NewNode,
  by: string,
  now: string,
) => sql(Written)`
  insert into nodes (id, name, region, sku, gpus, created_at, created_by)
  values (${id}, ${name}, ${region}, ${sku}, ${gpus}, ${now}, ${by}) returning id`

export const setStatus = ({ id }: Managed, status: 'active' | 'drained') => sql(Written)`
  update nodes set status = ${status} where id = ${id} returning id`

export const setRetired = ({ id }: Managed, by: string, reason: string, now: string) => sql(Written)`
  update nodes set status = 'retired', retired_at = ${now}, retired_by = ${by}, retire_reason = ${reason} where id = ${id} returning id`

/** Whether something of an allocation may still be there. */
export const takenBy = (node_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from allocations where node_id = ${node_id} and cleared_at is null`

export const setEnrolled = (
  { id }: Authorized<'node.certificate.renew', { readonly id: string }>,
  { agent_version, protocol_version }: { agent_version: string | null; protocol_version: number },
  now: string,
) =>
  sql(Written)`
  update nodes set enrolled_at = ${now}, last_seen_at = ${now}, agent_version = coalesce(${agent_version}, agent_version),
         protocol_version = ${protocol_version}
   where id = ${id} returning id`

/** To some seconds, and never while somebody else has the row: that it was seen is worth no wait. */
export const noteSeen = (node_id: string) => sql(Written)`
  update nodes set last_seen_at = transaction_timestamp()
   where id = (select id from nodes where id = ${node_id} and (last_seen_at is null or last_seen_at < transaction_timestamp() - interval '10 seconds')
                 for no key update skip locked)
  returning id`

const AgentSeen = Exactly({ agent_version: Nullable(Type.String()) })

/** Once an hour at most: one that changes it all the time must not fill the record. */
const isToBeNoted = sqlPart(`(agent_version_at is null or agent_version_at <= transaction_timestamp() - interval '1 hour')`)

export const isAgentVersionNew = (node_id: string, agent_version: string) => sql(AgentSeen)`
  select agent_version from nodes where id = ${node_id} and agent_version is distinct from ${agent_version} and ${isToBeNoted}`

/** Not while somebody else has the row: it can be said the next time. */
export const noteAgentVersion = (_proof: Authorized<'node.task.read', object>, node_id: string, agent_version: string) => sql(AgentSeen)`
  update nodes set agent_version = ${agent_version}, agent_version_at = transaction_timestamp()
   where id = (select id from nodes where id = ${node_id} and agent_version is distinct from ${agent_version} and ${isToBeNoted}
                 for no key update skip locked)
  returning agent_version`
