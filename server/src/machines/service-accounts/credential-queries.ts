import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import { noteUseIn } from './kept-key-queries.ts'

const Bytes = Type.Unsafe<Buffer>(Type.Any())

/** A key of a service account, with all that says whether it still counts. */
export const Credential = Exactly({
  key_id: Type.String(),
  service_account_id: Type.String(),
  org_id: Type.String(),
  project_id: Type.String(),
  /** Null in a key that is a public one, which has the two below. */
  salt: Nullable(Bytes),
  secret_hash: Nullable(Bytes),
  alg: Nullable(OneOf(['ES256', 'EdDSA', 'RS256'])),
  public_jwk: Nullable(Type.Record(Type.String(), Type.String())),
  /** It was made before a backup was restored. */
  is_of_earlier_epoch: Type.Boolean(),
  expires_at: Nullable(Type.String()),
  revoked_at: Nullable(Type.String()),
  account_state: OneOf(['active', 'disabled', 'deleted']),
})
export type Credential = Static<typeof Credential>

/** Each key as one of the account that is named with it, and the account as one of that organization. */
export const credentialsOf = (key_ids: readonly string[], account_ids: readonly string[], org_ids: readonly string[]) => sql(
  Exactly({ n: Type.Integer(), ...Credential.properties }),
)`
  select asked.n::int as n, k.id as key_id, s.id as service_account_id, s.org_id, s.project_id, k.salt, k.secret_hash,
         k.alg, k.public_jwk, k.epoch <> i.epoch as is_of_earlier_epoch, k.expires_at, k.revoked_at, s.state as account_state
    from unnest(${key_ids}::uuid[], ${account_ids}::uuid[], ${org_ids}::uuid[]) with ordinality as asked (key_id, account_id, org_id, n)
    join service_account_keys k on k.id = asked.key_id and k.service_account_id = asked.account_id
    join service_accounts s on s.id = k.service_account_id and s.org_id = asked.org_id
   cross join installation i`

/** Where an account lives. It never moves. */
export const homeOfAccount = (service_account_id: string) => sql(Exactly({ org_id: Type.String(), project_id: Type.String() }))`
  select org_id, project_id from service_accounts where id = ${service_account_id}`

export const noteUseOfKeys = (key_ids: readonly string[], now: string) => noteUseIn('service_account_keys', key_ids, now)
