import { Exactly, Id } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import type { Action } from '../authz/actions.ts'
import type { Authorized } from '../authz/authorize.ts'
import { columns, sql } from '../db/statement.ts'
import { AllocationRow } from './allocation.ts'

interface Pool {
  readonly region: string
  readonly sku: string
}

/** Who counts what is free among nodes of a kind is alone with it. To be asked for by those who hold no allocation that is on a node yet. */
export const lockPool = ({ region, sku }: Pool) => sql(Exactly({ locked: Type.Boolean() }))`
  select true as locked from pg_advisory_xact_lock(7290437, hashtext(${region} || '/' || ${sku}))`

export const poolOf = (node_id: string) => sql(Exactly({ region: Type.String(), sku: Type.String() }))`
  select region, sku from nodes where id = ${node_id}`

/** Where it fits: first what was heard of lately, then what is fullest, so that large ones find room elsewhere. */
export const fittingNodes = ({ region, sku, gpus }: Pool & { readonly gpus: number }, now: string) => sql(Exactly({ id: Id('node') }))`
  select n.id from nodes n
   cross join lateral (
     select n.gpus - coalesce(sum(a.gpus), 0) as free from allocations a where a.node_id = n.id and a.cleared_at is null) f
   where n.status = 'active' and n.enrolled_at is not null and n.region = ${region} and n.sku = ${sku} and f.free >= ${gpus}
   order by coalesce(n.last_seen_at > ${now}::timestamptz - interval '90 seconds', false) desc, f.free, n.id limit 10`

/** Nobody drains or retires it meanwhile. No row: somebody has. */
export const shareNode = (node_id: string) => sql(Exactly({ id: Id('node') }))`
  select id from nodes where id = ${node_id} and status = 'active' for share`

export const putOnNode = (
  _proof: Authorized<Action, object>,
  from: AllocationRow,
  { node_id, username, state }: { node_id: string; username: string; state: string },
  now: string,
) => sql(AllocationRow)`
  update allocations set state = ${state}, state_since = ${now}, node_id = ${node_id}, username_on_node = ${username}
   where id = ${from.id} and state = ${from.state} and node_id is null
  returning ${columns(AllocationRow)}`
