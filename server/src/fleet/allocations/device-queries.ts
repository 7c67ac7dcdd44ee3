import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

const Index = Exactly({ device_index: Type.Integer() })

/** Of a node `n`: it has said which devices it has, and understands what it is told of them. */
export const tellsDevices = `(n.protocol_version >= 2 and n.devices <> '[]')`

/** Of a node `n`: its GPUs that no allocation has. */
const free = `
  select (e ->> 'index')::int as device_index from jsonb_array_elements(n.devices) e
   where not exists (select from allocation_devices h
                      where h.node_id = n.id and h.device_index = (e ->> 'index')::int and h.released_at is null)`
export const countFreeDevices = `(select count(*) from (${free}) f)`

/**
 * Gives an allocation as many GPUs of its node as it asked for, the first that are free: all of them, or none. Whoever asks is alone with the
 * nodes of that kind; the table refuses one that is held anyway.
 */
export const holdDevices = (_proof: Authorized<Action, object>, allocation_id: string, now: string) => sql(Index)`
  with free as (
    select a.id, a.node_id, a.gpus, f.device_index, row_number() over (order by f.device_index) as place, count(*) over () as count
      from allocations a join nodes n on n.id = a.node_id cross join lateral (${sqlPart(free)}) f
     where a.id = ${allocation_id} and ${sqlPart(tellsDevices)}
       and not exists (select from allocation_devices h where h.allocation_id = a.id and h.released_at is null))
  insert into allocation_devices (allocation_id, node_id, device_index, held_since)
  select id, node_id, device_index, ${now} from free where count >= gpus and place <= gpus order by device_index
  returning device_index`

const Told = Exactly({
  protocol_version: Type.Integer(),
  is_described: Type.Boolean(),
  devices: Nullable(Type.Array(Type.String())),
  has_devices: Type.Boolean(),
})

/**
 * What an allocation's node understands, and the device nodes that its sessions may open there: of its own GPUs, and those that every one needs. Null
 * where the node has said that it has none. Nothing where the node has not described itself yet, says some of which none is its own, or says nothing
 * any more of its own: it is never more than its own.
 */
export const toldOfDevices = (allocation_id: string) => sql(Told)`
  select n.protocol_version, n.described_at is not null as is_described, h.indexes is not null as has_devices,
         case when h.indexes is not null then array(
                select p.path from jsonb_array_elements(n.devices) e cross join lateral jsonb_array_elements_text(e -> 'paths') p (path)
                 where (e ->> 'index')::int = any(h.indexes)
                union select unnest(n.shared_devices)
                order by 1)
              when n.devices <> '[]' or n.described_at is null then '{}'::text[] end as devices
    from allocations a join nodes n on n.id = a.node_id
   cross join lateral (select array_agg(d.device_index) as indexes from allocation_devices d
                        where d.allocation_id = a.id and d.released_at is null) h
   where a.id = ${allocation_id}`
