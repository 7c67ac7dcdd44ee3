import { Exactly, Id, Instant } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql } from '../db/statement.ts'
import { type Delivering, Delivery, type Promised } from './delivery.ts'

const Found = Exactly({ ...Delivery.properties, is_over: Type.Boolean(), is_of_epoch: Type.Boolean() })
export type FoundDelivery = Static<typeof Found>

export const findDelivery = (token_hash: Buffer, now: string) => sql(Found)`
  select ${columns(Delivery, 'd')}, d.ends_at <= ${now} as is_over, d.epoch = i.epoch as is_of_epoch
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

/** What nobody came for in time. */
export const expireDeliveries = (_proof: Delivering, subject_id: string, now: string) => sql(Exactly({ id: Id('delivery') }))`
  update wrapped_deliveries set state = 'expired', state_since = ends_at
   where subject_id = ${subject_id} and state = 'waiting' and ends_at <= ${now}
  returning id`

/** No row: somebody was faster, or it is over. */
export const openDelivery = (_proof: Delivering, id: string, now: string) => sql(Exactly({ id: Id('delivery') }))`
  update wrapped_deliveries d set state = 'opened', state_since = ${now} from installation i
   where d.id = ${id} and d.state = 'waiting' and d.ends_at > ${now} and d.epoch = i.epoch
  returning d.id`

/** What had its time is over already, and was not taken back. */
export const endDeliveries = (_proof: Delivering, subject_ids: readonly string[], now: string) => sql(
  Exactly({ id: Id('delivery'), state: Type.String() }),
)`
  update wrapped_deliveries set state = case when ends_at <= ${now} then 'expired' else 'revoked' end, state_since = ${now}
   where subject_id = any(${subject_ids}::uuid[]) and state = 'waiting'
  returning id, state`
