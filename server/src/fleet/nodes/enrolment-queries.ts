import { Exactly, Instant, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

const EnrolmentRow = Exactly({
  id: Type.String(),
  node_id: Type.String(),
  secret_hash: Type.Unsafe<Buffer>(Type.Any()),
  expires_at: Instant,
  ended_at: Nullable(Instant),
  is_used: Type.Boolean(),
  /** Made before the database was restored. */
  is_of_earlier_epoch: Type.Boolean(),
})
export type EnrolmentRow = Static<typeof EnrolmentRow>

/** The latest of a node's, or that of this very secret; whoever brings a used one is told apart only in the record. */
export const enrolmentOf = (node_id: string, secret_hash: Buffer) => sql(EnrolmentRow)`
  select e.id, e.node_id, e.secret_hash, e.expires_at, e.ended_at, e.is_used, e.epoch <> i.epoch as is_of_earlier_epoch
    from node_enrolments e cross join installation i
   where e.node_id = ${node_id}
   order by e.secret_hash = ${secret_hash} desc, e.created_at desc limit 1`

const Written = Exactly({ id: Type.String(), expires_at: Instant })
type Managed = Authorized<'platform.node.manage', object>

/** Void from now on, whoever still has it. */
export const endOpenEnrolments = (_proof: Managed, node_id: string, now: string) => sql(Written)`
  update node_enrolments set ended_at = ${now} where node_id = ${node_id} and ended_at is null returning id, expires_at`

export const insertEnrolment = (
  _proof: Managed,
  { id, node_id, secret_hash }: Pick<EnrolmentRow, 'id' | 'node_id' | 'secret_hash'>,
  by: string,
  now: string,
) => sql(Written)`
  insert into node_enrolments (id, node_id, secret_hash, epoch, created_at, created_by, expires_at)
  select ${id}, ${node_id}, ${secret_hash}, i.epoch, ${now}, ${by}, ${now}::timestamptz + interval '15 minutes' from installation i
  returning id, expires_at`

export const useEnrolment = (_node: Authorized<'node.certificate.renew', object>, id: string, now: string) => sql(Written)`
  update node_enrolments set ended_at = ${now}, is_used = true where id = ${id} and ended_at is null returning id, expires_at`
