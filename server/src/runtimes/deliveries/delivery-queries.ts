import { Exactly, Id, Instant } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import { type Delivering, Delivery, type Promised } from './delivery.ts'

const Found = Exactly({ ...Delivery.properties, is_over: Type.Boolean(), is_of_epoch: Type.Boolean() })
export type FoundDelivery = Static<typeof Found>

/** By the clock, and not by when the work began: it may have waited since. */
export const findDelivery = (token_hash: Buffer) => sql(Found)`
  select ${columns(Delivery, 'd')}, d.ends_at <= clock_timestamp() as is_over, d.epoch = i.epoch as is_of_epoch
    from wrapped_deliveries d cross join installation i where d.token_hash = ${token_hash}`

interface NewDelivery extends Promised {
  readonly id: string
  readonly token_hash: Buffer
  readonly ttl_seconds: number
}

export const insertDelivery = (_proof: Delivering, made: NewDelivery, now: string) => sql(
  Exactly({ id: Id('delivery'), ends_at: Instant }),
)`
  insert into wrapped_deliveries (id, kind, subject_id, org_id, project_id, requester_type, requester_id, token_hash, epoch, created_at, ends_at,
                                  state_since)
  select ${made.id}, ${made.kind}, ${made.subject_id}, ${made.org_id}, ${made.project_id}, ${made.requester.type}, ${made.requester.id},
         ${made.token_hash}, i.epoch, ${now}, ${now}::timestamptz + make_interval(secs => ${made.ttl_seconds}), ${now}
    from installation i
  returning id, ends_at`

export const countWaiting = ({ type, id }: Promised['requester'], now: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from wrapped_deliveries d join installation i on i.epoch = d.epoch
   where d.requester_type = ${type} and d.requester_id = ${id} and d.state = 'waiting' and d.ends_at > ${now}`

/** No row: somebody was faster, or it is over by now, however long this work has waited for its turn. */
export const openDelivery = (_proof: Delivering, id: string, now: string) => sql(Exactly({ id: Id('delivery') }))`
  update wrapped_deliveries d set state = 'opened', state_since = ${now} from installation i
   where d.id = ${id} and d.state = 'waiting' and d.ends_at > clock_timestamp() and d.epoch = i.epoch
  returning d.id`

/** What had its time is over already, however much of it there is: it is not touched. */
export const endDeliveries = (_proof: Delivering, subject_ids: readonly string[], now: string) => sql(Exactly({ id: Id('delivery') }))`
  update wrapped_deliveries set state = 'revoked', state_since = ${now}
   where subject_id = any(${subject_ids}::uuid[]) and state = 'waiting' and ends_at > ${now}
  returning id`

/** A day after they have ended nobody asks any more why one did not open. */
export const forgetOver = (now: string, most: number) => sql(Exactly({ count: Type.Integer() }))`
  with ended as (
    select id from wrapped_deliveries where ends_at <= ${now}::timestamptz - interval '1 day' order by ends_at limit ${most}::int),
  gone as (delete from wrapped_deliveries d using ended e where d.id = e.id returning 1)
  select count(*)::int as count from gone`
