import { Exactly, Instant, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { Issued } from './issue-certificate.ts'

const ShownCertificate = Exactly({
  serial: Type.String(),
  node_id: Type.String(),
  ended_at: Nullable(Instant),
  is_expired: Type.Boolean(),
  /** Issued before the database was restored. */
  is_of_earlier_epoch: Type.Boolean(),
  status: OneOf(['active', 'drained', 'retired']),
  is_seen_lately: Type.Boolean(),
})
export type ShownCertificate = Static<typeof ShownCertificate>

export const certificateShown = (thumbprint: string) => sql(ShownCertificate)`
  select c.serial, c.node_id, c.ended_at, c.expires_at <= transaction_timestamp() as is_expired, c.epoch <> i.epoch as is_of_earlier_epoch,
         n.status, coalesce(n.last_seen_at > transaction_timestamp() - interval '10 seconds', false) as is_seen_lately
    from node_certificates c join nodes n on n.id = c.node_id cross join installation i
   where c.thumbprint = ${thumbprint}`

const Written = Exactly({ serial: Type.String() })

type Vouched = Authorized<'node.certificate.renew', { readonly id: string }>

interface Key {
  readonly thumbprint: string
  readonly public_key: string
}

export const insertCertificate = (
  { id }: Vouched,
  { serial, thumbprint, expires_at, pem }: Issued,
  { thumbprint: key_thumbprint, public_key }: Key,
  enrolment_id: string | null,
  now: string,
) => sql(Written)`
  insert into node_certificates (serial, node_id, thumbprint, key_thumbprint, public_key, epoch, issued_at, expires_at, enrolment_id, certificate)
  select ${serial}, ${id}, ${thumbprint}, ${key_thumbprint}, ${public_key}, i.epoch, ${now}, ${expires_at},
         ${enrolment_id}, ${enrolment_id === null ? null : pem}
    from installation i
  returning serial`

const GivenCertificate = Exactly({
  serial: Type.String(),
  certificate: Type.String(),
  key_thumbprint: Type.String(),
  issued_at: Instant,
  expires_at: Instant,
})
export type GivenCertificate = Static<typeof GivenCertificate>

/** What an enrolment gave, while that still counts. */
export const certificateGivenBy = (enrolment_id: string, now: string) => sql(GivenCertificate)`
  select c.serial, c.certificate, c.key_thumbprint, c.issued_at, c.expires_at from node_certificates c join installation i on i.epoch = c.epoch
   where c.enrolment_id = ${enrolment_id} and c.ended_at is null and c.expires_at > ${now}`

/** All of a node's but the latest so many. */
export const endCertificatesBut = (
  { id }: Authorized<'node.certificate.renew' | 'platform.node.manage', { readonly id: string }>,
  { latest, kept, reason }: { latest: string | null; kept: number; reason: string },
  now: string,
) => sql(Written)`
  update node_certificates set ended_at = ${now}, end_reason = ${reason}
   where serial in (select serial from node_certificates where node_id = ${id} and ended_at is null
                     order by serial is not distinct from ${latest} desc, issued_at desc, serial offset ${kept})
  returning serial`

/** The keys that a node has been vouched for and still is: it signs its receipts with them. */
export const receiptKeysOf = (node_id: string, now: string) => sql(Exactly({ public_key: Type.String() }))`
  select c.public_key from node_certificates c join installation i on i.epoch = c.epoch
   where c.node_id = ${node_id} and c.ended_at is null and c.expires_at > ${now}`

export const latestCertificateOf = (node_id: string) => sql(Exactly({ issued_at: Instant }))`
  select issued_at from node_certificates where node_id = ${node_id} and ended_at is null order by issued_at desc, serial limit 1`
