import { Exactly, Instant, Nullable, OneOf } from '@gatehouse/contract/shapes'
import { SigningKey, SigningKeyAlgorithm, SigningKeyState } from '@gatehouse/contract/signing-keys'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

/** A key as its table holds it, with the private part wherever it is kept. */
export const KeyRow = Exactly({
  kid: Type.String(),
  alg: SigningKeyAlgorithm,
  public_jwk: Nullable(Type.Record(Type.String(), Type.String())),
  custody: OneOf(['envelope', 'transit', 'envelope_key']),
  envelope: Nullable(Type.Unknown()),
  transit_name: Nullable(Type.String()),
  transit_version: Nullable(Type.Integer()),
  envelope_key_id: Nullable(Type.String()),
  state: SigningKeyState,
  created_at: Instant,
  activated_at: Nullable(Instant),
  grace_until: Nullable(Instant),
})
export type KeyRow = Static<typeof KeyRow>

type Proof = Authorized<'platform.admin', object>

/** Whoever changes which keys there are does it alone: two must not both activate the next one. */
export const lockKeys = () => sql(Exactly({ locked: Type.Literal(true) }))`
  select true as locked from pg_advisory_xact_lock(7290434)`

/** Made in the epoch that the installation is in: a restored backup brings none back. */
const ofThisEpoch = sqlPart(`k.state in ('staged', 'active', 'grace') and k.epoch = i.epoch`)

/** What has not ended, the newest first. */
export const liveKeys = () => sql(KeyRow)`
  select ${columns(KeyRow, 'k')} from signing_keys k cross join installation i where ${ofThisEpoch} order by k.created_at desc, k.kid`

/** What came back with a backup and stands in the way of what is made now. */
export const keysOfEarlierEpochs = () => sql(KeyRow)`
  select ${columns(KeyRow, 'k')} from signing_keys k cross join installation i
   where k.state in ('staged', 'active', 'grace') and k.epoch < i.epoch order by k.kid`

/** Without its private part, sealed or not. */
export const findKey = (kid: string) => sql(SigningKey)`
  select ${columns(SigningKey)} from signing_keys where kid = ${kid}`

export const allKeys = (after: string | null, limit: number) => sql(SigningKey)`
  select ${columns(SigningKey)} from signing_keys where ${after}::text is null or kid > ${after}::text order by kid limit ${limit}`

const KeyInEpoch = Exactly({ ...KeyRow.properties, epoch: Type.Integer() })
export type KeyInEpoch = Static<typeof KeyInEpoch>

/** The same, with the epoch of the installation at that moment. */
export const liveKeysInEpoch = () => sql(KeyInEpoch)`
  select ${columns(KeyRow, 'k')}, i.epoch from signing_keys k cross join installation i where ${ofThisEpoch} order by k.created_at desc, k.kid`

export type NewKey = Omit<KeyRow, 'state' | 'created_at' | 'activated_at' | 'grace_until'>

/** No row: somebody else has made one at this very moment. */
export const insertKey = (_proof: Proof, key: NewKey, state: 'staged' | 'active', now: string) => sql(KeyRow)`
  insert into signing_keys
    (kid, alg, public_jwk, custody, envelope, transit_name, transit_version, envelope_key_id, epoch, state, created_at, activated_at)
  values (${key.kid}, ${key.alg}, ${key.public_jwk === null ? null : JSON.stringify(key.public_jwk)}::jsonb, ${key.custody},
          ${key.envelope === null ? null : JSON.stringify(key.envelope)}::jsonb, ${key.transit_name}, ${key.transit_version},
          ${key.envelope_key_id}, (select epoch from installation), ${state}, ${now}, case when ${state} = 'active' then ${now}::timestamptz end)
  on conflict do nothing
  returning ${columns(KeyRow)}`

export const activateKey = (_proof: Proof, kid: string, now: string) => sql(KeyRow)`
  update signing_keys set state = 'active', activated_at = ${now} where kid = ${kid} and state = 'staged' returning ${columns(KeyRow)}`

/** It signs no more; what it signed is good until the last of it has expired. `at_least` covers what is being recorded right now. */
export const beginGrace = (_proof: Proof, kid: string, at_least: string) => sql(KeyRow)`
  update signing_keys k
     set state = 'grace',
         grace_until = greatest(${at_least}::timestamptz, (select max(t.expires_at) from issued_tokens t where t.kid = k.kid))
   where k.kid = ${kid} and k.state = 'active'
  returning ${columns(KeyRow, 'k')}`

export const endKey = (
  _proof: Proof,
  kid: string,
  { state, by, reason, now }: { state: 'retired' | 'revoked'; by: string | null; reason: string; now: string },
) => sql(KeyRow)`
  update signing_keys set state = ${state}, ended_at = ${now}, ended_by = ${by}, end_reason = ${reason}
   where kid = ${kid} and state in ('staged', 'active', 'grace')
  returning ${columns(KeyRow)}`
