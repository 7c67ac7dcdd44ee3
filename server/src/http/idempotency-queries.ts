import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '../db/statement.ts'
import type { Actor } from '../work/work.ts'

const Kept = Exactly({
  request_hash: Type.String(),
  decided: Type.Array(Type.Unknown()),
  status: Nullable(Type.Integer()),
  reply: Type.Unknown(),
  credential_session_id: Nullable(Type.String()),
})
export type Kept = Static<typeof Kept>
const Done = Exactly({ key: Type.String() })

/** How long a duplicate waits for the first before it is told to come again; set back, so that other locks are waited for as ever. */
export const boundTheWait = (wait: string) => sql(Exactly({ lock_timeout: Type.String() }))`
  select set_config('lock_timeout', ${wait}, true) as lock_timeout`

/** Takes the key, or waits until whoever has it is done; a key past its day is taken anew. No row: somebody had it. */
export const reserveKey = ({ type, id }: Actor, key: string, request_hash: string, now: string) => sql(Done)`
  insert into idempotency_keys as k (actor_type, actor_id, key, request_hash, created_at, expires_at)
  values (${type}, ${id}, ${key}, ${request_hash}, ${now}, ${now}::timestamptz + interval '24 hours')
  on conflict (actor_type, actor_id, key) do update
     set request_hash = excluded.request_hash, decided = '[]', status = null, reply = null, credential_session_id = null,
         created_at = excluded.created_at, expires_at = excluded.expires_at
   where k.expires_at <= excluded.created_at
  returning key`

export const keptAnswer = ({ type, id }: Actor, key: string) => sql(Kept)`
  select request_hash, decided, status, reply, credential_session_id
    from idempotency_keys
   where actor_type = ${type} and actor_id = ${id} and key = ${key}`

/** The same before any work has begun, if it has not gone past its day. */
export const answerStillKept = ({ type, id }: Actor, key: string) => sql(
  Exactly({ request_hash: Type.String(), credential_session_id: Nullable(Type.String()) }),
)`
  select request_hash, credential_session_id
    from idempotency_keys
   where actor_type = ${type} and actor_id = ${id} and key = ${key} and expires_at > now()`

export const keepAnswer = (
  { type, id }: Actor,
  key: string,
  status: number,
  reply: string | null,
  decided: string,
  session: string | null,
) => sql(Done)`
  update idempotency_keys
     set status = ${status}, reply = ${reply}::jsonb, decided = ${decided}::jsonb, credential_session_id = ${session}
   where actor_type = ${type} and actor_id = ${id} and key = ${key}
  returning key`

export const forgetExpiredKeys = (now: string) => sql(Done)`
  delete from idempotency_keys where expires_at <= ${now} returning key`
