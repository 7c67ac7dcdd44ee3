import { ServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { AccountsOf } from './account-queries.ts'
import { isLiveKey, stateOfKey } from './kept-key-queries.ts'
import type { SecretHash } from './key-secret.ts'
import type { RegisteredKey } from './registered-key.ts'

const key = sqlPart(`
  k.id as key_id, k.service_account_id, case when k.alg is null then 'secret' else 'public_key' end as kind, k.alg, k.public_jwk,
  k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at`)
/** Of an account of this project: a key of another's is none. */
const ofAccount = sqlPart('service_account_keys k join service_accounts s on s.id = k.service_account_id cross join installation i')

export const keysOf = (project_id: string, service_account_id: string, after: string | null, limit: number) => sql(ServiceAccountKey)`
  select ${key}, ${stateOfKey} as state from ${ofAccount}
   where s.id = ${service_account_id} and s.project_id = ${project_id} and (${after}::uuid is null or k.id > ${after}::uuid)
   order by k.id limit ${limit}`

export const findKey = (project_id: string, service_account_id: string, key_id: string) => sql(ServiceAccountKey)`
  select ${key}, ${stateOfKey} as state from ${ofAccount}
   where k.id = ${key_id} and s.id = ${service_account_id} and s.project_id = ${project_id}`

export const countLiveKeys = (service_account_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from service_account_keys k cross join installation i
   where k.service_account_id = ${service_account_id} and ${isLiveKey}`

const Made = Exactly({ id: Type.String() })
type Making = AccountsOf<'project.service_account.key.create'>

export interface NewKey {
  /** What is kept of it: of a secret its hash, of a public key all. */
  readonly kept: SecretHash | RegisteredKey
  readonly id: string
  readonly service_account_id: string
  readonly expires_at: string | null
}

const nothing = { salt: null, secret_hash: null, alg: null, public_jwk: null }

export const insertKey = (project: Making, { id, service_account_id, kept, expires_at }: NewKey, by: string, now: string) => {
  const { salt, secret_hash, alg, public_jwk } = { ...nothing, ...kept }
  return sql(Made)`
  insert into service_account_keys (id, service_account_id, salt, secret_hash, alg, public_jwk, epoch, created_at, created_by, expires_at)
  select ${id}, s.id, ${salt}, ${secret_hash}, ${alg}, ${public_jwk && JSON.stringify(public_jwk)}::jsonb, i.epoch, ${now}, ${by}, ${expires_at}
    from service_accounts s cross join installation i where s.id = ${service_account_id} and s.project_id = ${project.id} and s.state <> 'deleted'
  returning id`
}

/** Never later than it would have ended anyway. */
export const endKeyAfter = (_project: Making, key_id: string, overlap_seconds: number, now: string) => sql(
  Exactly({ ends_at: Type.String() }),
)`
  update service_account_keys set expires_at = least(expires_at, ${now}::timestamptz + make_interval(secs => ${overlap_seconds}))
   where id = ${key_id} and revoked_at is null
  returning expires_at as ends_at`

export const revokeKey = (
  _project: AccountsOf<'project.service_account.manage' | 'project.service_account.key.create'>,
  key_id: string,
  by: string,
  reason: string,
  now: string,
) => sql(Exactly({ ends_at: Type.String() }))`
  update service_account_keys set revoked_at = ${now}, revoked_by = ${by}, revoke_reason = ${reason}
   where id = ${key_id} and revoked_at is null
  returning revoked_at as ends_at`
