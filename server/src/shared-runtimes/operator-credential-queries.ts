import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '../db/statement.ts'

const Bytes = Type.Unsafe<Buffer>(Type.Any())

/** A credential of a runtime's operator, with all that says whether it still counts. */
const Row = Exactly({
  key_id: Type.String(),
  salt: Bytes,
  secret_hash: Bytes,
  /** It was made before a backup was restored. */
  is_of_earlier_epoch: Type.Boolean(),
  expires_at: Nullable(Type.String()),
  revoked_at: Nullable(Type.String()),
  runtime_state: Type.String(),
})
export type OperatorKeyRow = Static<typeof Row>

/** Each credential as one of the runtime that is named with it, and the runtime as one of that organization. */
export const operatorKeysOf = (key_ids: readonly string[], runtime_ids: readonly string[], org_ids: readonly string[]) => sql(
  Exactly({ n: Type.Integer(), ...Row.properties }),
)`
  select asked.n::int as n, c.id as key_id, c.salt, c.secret_hash, c.epoch <> i.epoch as is_of_earlier_epoch, c.expires_at, c.revoked_at,
         r.state as runtime_state
    from unnest(${key_ids}::uuid[], ${runtime_ids}::uuid[], ${org_ids}::uuid[]) with ordinality as asked (key_id, runtime_id, org_id, n)
    join shared_runtime_operator_credentials c on c.id = asked.key_id and c.shared_runtime_id = asked.runtime_id
    join shared_app_runtimes r on r.id = c.shared_runtime_id and r.org_id = asked.org_id
   cross join installation i`

/** Whose a runtime is. It never changes hands. */
export const homeOfRuntime = (shared_runtime_id: string) => sql(Exactly({ org_id: Type.String(), project_id: Type.Null() }))`
  select org_id, null as project_id from shared_app_runtimes where id = ${shared_runtime_id}`

/** To the minute, and whoever is there first: nobody waits for another to have noted it. */
export const noteUseOfOperatorKeys = (key_ids: readonly string[], now: string) => sql(Exactly({ id: Type.String() }))`
  update shared_runtime_operator_credentials set last_used_at = date_trunc('minute', ${now}::timestamptz)
   where id in (
     select id from shared_runtime_operator_credentials
      where id = any (${key_ids}::uuid[])
        and (last_used_at is null or last_used_at < date_trunc('minute', ${now}::timestamptz))
      order by id
        for no key update skip locked)
  returning id`
