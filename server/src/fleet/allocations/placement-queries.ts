import { Exactly, Id } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { isHeardOf } from '../nodes/node-queries.ts'
import { AllocationRow } from './allocation.ts'
import { countFreeDevices, tellsDevices } from './device-queries.ts'

interface Pool {
  readonly region: string
  readonly sku: string
}

/** Who counts what is free among nodes of a kind is alone with it. To be asked for by those who hold no allocation that is on a node yet. */
export const lockPool = ({ region, sku }: Pool) => sql(Exactly({ locked: Type.Boolean() }))`
  select true as locked from pg_advisory_xact_lock(7290437, hashtext(${region} || '/' || ${sku}))`

export const poolOf = (node_id: string) => sql(Exactly({ region: Type.String(), sku: Type.String() }))`
  select region, sku from nodes where id = ${node_id}`

const takesMore = sqlPart(`n.status = 'active' and n.enrolled_at is not null`)
/** GPUs of a node on which nothing lies, and nothing may be left; where it says which it has, no more than it says. */
const free = sqlPart(`
  least(n.gpus - (select coalesce(sum(b.gpus), 0) from allocations b where b.node_id = n.id and b.cleared_at is null),
        case when ${tellsDevices} then ${countFreeDevices} end)`)

/** Where it fits: first what was heard of lately, then what is fullest, so that large ones find room elsewhere. */
export const fittingNodes = ({ region, sku, gpus }: Pool & { readonly gpus: number }) => sql(Exactly({ id: Id('node') }))`
  select n.id from nodes n cross join lateral (select ${free} as gpus) f
   where ${takesMore} and n.region = ${region} and n.sku = ${sku} and f.gpus >= ${gpus}
   order by ${isHeardOf} desc, f.gpus, n.id limit 10`

/** Those that wait for a place, where there is one. */
export const placeable = (limit: number) => sql(Exactly({ id: Id('allocation') }))`
  select a.id from allocations a
    join projects p on p.id = a.project_id and p.state = 'active'
    join organizations o on o.id = a.org_id and o.state = 'active' and o.deleted_at is null
   where a.state = 'requested'
     and exists (select 1 from nodes n where ${takesMore} and n.region = a.region and n.sku = a.sku and ${free} >= a.gpus)
   order by a.created_at, a.id limit ${limit}`

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
