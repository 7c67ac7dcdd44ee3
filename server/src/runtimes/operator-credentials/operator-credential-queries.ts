import { OperatorCredential } from '@gatehouse/contract/operator-credentials'
import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import { isLiveKey, noteUseIn, stateOfKey } from '#machines/service-accounts/kept-key-queries.ts'
import type { SecretHash } from '#machines/service-accounts/key-secret.ts'
import type { Managing } from '../shared-runtimes/shared-runtime.ts'

const Bytes = Type.Unsafe<Buffer>(Type.Any())

/** A credential of a runtime's operator, with all that says whether it still counts. */
const Row = Exactly({
  key_id: Type.String(),
  salt: Bytes,
  secret_hash: Bytes,
  /** As service accounts' keys have them; operators have secrets alone, and register no keys. */
  alg: Type.Null(),
  public_jwk: Type.Null(),
  /** It was made before a backup was restored. */
  is_of_earlier_epoch: Type.Boolean(),
  expires_at: Nullable(Type.String()),
  revoked_at: Nullable(Type.String()),
  runtime_state: Type.String(),
})
export type OperatorKey = Static<typeof Row>

/** Each credential as one of the runtime that is named with it, and the runtime as one of that organization. */
export const operatorKeysOf = (key_ids: readonly string[], runtime_ids: readonly string[], org_ids: readonly string[]) => sql(
  Exactly({ n: Type.Integer(), ...Row.properties }),
)`
  select asked.n::int as n, c.id as key_id, c.salt, c.secret_hash, null as alg, null as public_jwk,
         c.epoch <> i.epoch as is_of_earlier_epoch, c.expires_at, c.revoked_at, r.state as runtime_state
    from unnest(${key_ids}::uuid[], ${runtime_ids}::uuid[], ${org_ids}::uuid[]) with ordinality as asked (key_id, runtime_id, org_id, n)
    join shared_runtime_operator_credentials c on c.id = asked.key_id and c.shared_runtime_id = asked.runtime_id
    join shared_app_runtimes r on r.id = c.shared_runtime_id and r.org_id = asked.org_id
   cross join installation i`

/** Whose a runtime is. It never changes hands. */
export const homeOfRuntime = (shared_runtime_id: string) => sql(Exactly({ org_id: Type.String(), project_id: Type.Null() }))`
  select org_id, null as project_id from shared_app_runtimes where id = ${shared_runtime_id}`

export const noteUseOfOperatorKeys = (key_ids: readonly string[], now: string) =>
  noteUseIn('shared_runtime_operator_credentials', key_ids, now)

const told = sqlPart('k.id as key_id, k.shared_runtime_id, k.created_at, k.created_by, k.expires_at, k.last_used_at, k.revoked_at')
const table = sqlPart('shared_runtime_operator_credentials k cross join installation i')

export const operatorKeysIn = (shared_runtime_id: string, after: string | null, limit: number) => sql(OperatorCredential)`
  select ${told}, ${stateOfKey} as state from ${table}
   where k.shared_runtime_id = ${shared_runtime_id} and (${after}::uuid is null or k.id > ${after}::uuid)
   order by k.id limit ${limit}`

export const findOperatorKey = (shared_runtime_id: string, key_id: string) => sql(OperatorCredential)`
  select ${told}, ${stateOfKey} as state from ${table} where k.id = ${key_id} and k.shared_runtime_id = ${shared_runtime_id}`

export const countLiveOperatorKeys = (shared_runtime_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from ${table} where k.shared_runtime_id = ${shared_runtime_id} and ${isLiveKey}`

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
