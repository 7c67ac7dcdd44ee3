import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** What was signed to be used once. */
export interface Proof {
  readonly kind: 'client_assertion' | 'dpop'
  /** The key that signed it. */
  readonly subject: string
  readonly jti_hash: Buffer
  readonly expires_at: string
}

const Position = Exactly({ n: Type.Integer() })

/**
 * Those of them that nobody had used, by their place. Whoever writes the same row at the same time waits for the first to commit and then
 * finds it there. In one order, so that two such statements do not wait for each other.
 */
export const insertProofs = (proofs: readonly Proof[]) => sql(Position)`
  with asked as (
    select distinct on (kind, subject, jti_hash) kind, subject, jti_hash, expires_at, n::int as n
      from unnest(
             ${proofs.map(({ kind }) => kind)}::text[], ${proofs.map(({ subject }) => subject)}::text[],
             ${proofs.map(({ jti_hash }) => jti_hash)}::bytea[], ${proofs.map(({ expires_at }) => expires_at)}::timestamptz[])
           with ordinality as t (kind, subject, jti_hash, expires_at, n)
     order by kind, subject, jti_hash, n),
  used as (
    insert into used_proofs (kind, subject, jti_hash, expires_at)
    select kind, subject, jti_hash, expires_at from asked order by kind, subject, jti_hash
    on conflict do nothing
    returning kind, subject, jti_hash)
  select asked.n from asked join used using (kind, subject, jti_hash)`

/** Ten minutes after they have ended: a clock that was set back in the meantime makes none of them new. */
export const forgetProofs = (now: string, most: number) => sql(Exactly({ count: Type.Integer() }))`
  with ended as (
    select kind, subject, jti_hash from used_proofs
     where expires_at < ${now}::timestamptz - interval '10 minutes'
     order by expires_at limit ${most}::int),
  gone as (delete from used_proofs u using ended e where (u.kind, u.subject, u.jti_hash) = (e.kind, e.subject, e.jti_hash) returning 1)
  select count(*)::int as count from gone`
