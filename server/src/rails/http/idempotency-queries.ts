import { createHash } from 'node:crypto'
import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Actor } from '#ground/work/work.ts'

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

/**
 * Whose key it is: the actor's, and where another acts for him, that one's apart. No key that is sent has a space in it. What is kept of
 * his is a digest, so that it is never too long.
 */
const keyOf = ({ token }: Actor, key: string): string =>
  token?.act ? `${token.act.sub} ${createHash('sha256').update(`${key}`).digest('base64url')}` : key

/** Takes the key, or waits until whoever has it is done; a key past its day is taken anew. No row: somebody had it. */
export const reserveKey = (actor: Actor, key: string, request_hash: string, now: string) => sql(Done)`
  insert into idempotency_keys as k (actor_type, actor_id, key, request_hash, created_at, expires_at)
  values (${actor.type}, ${actor.id}, ${keyOf(actor, key)}, ${request_hash}, ${now}, ${now}::timestamptz + interval '24 hours')
  on conflict (actor_type, actor_id, key) do update
     set request_hash = excluded.request_hash, decided = '[]', status = null, reply = null, credential_session_id = null,
         created_at = excluded.created_at, expires_at = excluded.expires_at
   where k.expires_at <= excluded.created_at
  returning key`

export const keptAnswer = (actor: Actor, key: string) => sql(Kept)`
  select request_hash, decided, status, reply, credential_session_id
    from idempotency_keys
   where actor_type = ${actor.type} and actor_id = ${actor.id} and key = ${keyOf(actor, key)}`

/** The same before any work has begun, if it has not gone past its day. */
export const answerStillKept = (actor: Actor, key: string) => sql(
  Exactly({ request_hash: Type.String(), credential_session_id: Nullable(Type.String()) }),
)`
  select request_hash, credential_session_id
    from idempotency_keys
   where actor_type = ${actor.type} and actor_id = ${actor.id} and key = ${keyOf(actor, key)} and expires_at > now()`

export const keepAnswer = (actor: Actor, key: string, status: number, reply: string | null, decided: string, session: string | null) => sql(
  Done,
)`
  update idempotency_keys
     set status = ${status}, reply = ${reply}::jsonb, decided = ${decided}::jsonb, credential_session_id = ${session}
   where actor_type = ${actor.type} and actor_id = ${actor.id} and key = ${keyOf(actor, key)}
  returning key`

export const forgetExpiredKeys = (now: string) => sql(Done)`
  delete from idempotency_keys where expires_at <= ${now} returning key`
