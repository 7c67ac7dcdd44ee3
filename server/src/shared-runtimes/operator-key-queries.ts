import { OperatorCredential } from '@gatehouse/contract/operator-credentials'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '../db/statement.ts'
import type { SecretHash } from '../service-accounts/key-secret.ts'
import type { Managing } from './shared-runtime.ts'

const told = sqlPart(`
  c.id as key_id, c.shared_runtime_id,
  case when c.revoked_at is not null then 'revoked' when c.epoch <> i.epoch then 'ended_by_restore'
       when c.expires_at <= transaction_timestamp() then 'expired' else 'active' end as state,
  c.created_at, c.created_by, c.expires_at, c.last_used_at, c.revoked_at`)
const table = sqlPart('shared_runtime_operator_credentials c cross join installation i')

export const operatorKeysIn = (shared_runtime_id: string, after: string | null, limit: number) => sql(OperatorCredential)`
  select ${told} from ${table}
   where c.shared_runtime_id = ${shared_runtime_id} and (${after}::uuid is null or c.id > ${after}::uuid)
   order by c.id limit ${limit}`

export const findOperatorKey = (shared_runtime_id: string, key_id: string) => sql(OperatorCredential)`
  select ${told} from ${table} where c.id = ${key_id} and c.shared_runtime_id = ${shared_runtime_id}`

export const countLiveOperatorKeys = (shared_runtime_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from shared_runtime_operator_credentials c join installation i on i.epoch = c.epoch
   where c.shared_runtime_id = ${shared_runtime_id} and c.revoked_at is null
     and (c.expires_at is null or c.expires_at > transaction_timestamp())`

interface NewKey extends SecretHash {
  readonly id: string
  readonly shared_runtime_id: string
  readonly expires_at: string | null
}

export const insertOperatorKey = (organization: Managing, made: NewKey, by: string, now: string) => sql(Exactly({ id: Type.String() }))`
  insert into shared_runtime_operator_credentials (id, shared_runtime_id, salt, secret_hash, epoch, created_at, created_by, expires_at)
  select ${made.id}, r.id, ${made.salt}, ${made.secret_hash}, i.epoch, ${now}, ${by}, ${made.expires_at}
    from shared_app_runtimes r cross join installation i
   where r.id = ${made.shared_runtime_id} and r.org_id = ${organization.id} and r.state <> 'deleted'
  returning id`

export const revokeOperatorKey = (_proof: Managing, key_id: string, by: string, reason: string, now: string) => sql(
  Exactly({ id: Type.String() }),
)`
  update shared_runtime_operator_credentials set revoked_at = ${now}, revoked_by = ${by}, revoke_reason = ${reason}
   where id = ${key_id} and revoked_at is null
  returning id`

export const revokeOperatorKeysOf = (_proof: Managing, shared_runtime_id: string, by: string, reason: string, now: string) => sql(
  Exactly({ id: Type.String() }),
)`
  update shared_runtime_operator_credentials set revoked_at = ${now}, revoked_by = ${by}, revoke_reason = ${reason}
   where shared_runtime_id = ${shared_runtime_id} and revoked_at is null
  returning id`
