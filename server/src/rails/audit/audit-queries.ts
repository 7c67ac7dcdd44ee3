import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { ChainedRow } from './chain.ts'

const Bytes = Type.Unsafe<Buffer>(Type.Any())
const Head = Exactly({ chain_id: Type.String(), seq: Type.Integer(), hash: Bytes })
export type Head = Static<typeof Head>

/** Rows are locked as they are put in order, so whoever locks several does it in the same order as everybody. */
export const lockHeads = (chain_ids: readonly string[]) => sql(Head)`
  select chain_id, seq, hash from audit_heads where chain_id = any (${chain_ids}::uuid[]) order by chain_id for update`

/** The first row of a chain; whoever comes second at the same moment waits here and goes on from the first. */
export const openHead = (chain_id: string) => sql(Head)`
  insert into audit_heads as h (chain_id, seq, hash) values (${chain_id}, 0, decode(repeat('00', 32), 'hex'))
  on conflict (chain_id) do update set seq = h.seq
  returning chain_id, seq, hash`

type Hashed = ChainedRow & { hash: Buffer }

/**
 * Adds rows and moves the heads, in one statement; `lasts` and `counts` say of each chain with which row it ends then, and how many are
 * new. Where a head is not where it should be, it would become null, which its table refuses.
 */
export const insertChained = (rows: readonly Hashed[], lasts: readonly Hashed[], counts: readonly number[]) => sql(Exactly({}))`
  with added as (
    insert into audit_logs (chain_id, seq, id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id,
                            resource_type, resource_id, resource_name, action, result, reason_code, severity, metadata, credential_id, jti, hash)
    select r.chain_id, r.seq, r.id, r.occurred_at, r.correlation_id, r.actor_type, r.actor_id, r.platform_role, r.tenant_id, r.project_id,
           r.resource_type, r.resource_id, r.resource_name, r.action, r.result, r.reason_code, r.severity, r.metadata::json, r.credential_id, r.jti, r.hash
      from unnest(
             ${rows.map(({ chain_id }) => chain_id)}::uuid[], ${rows.map(({ seq }) => seq)}::bigint[],
             ${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ occurred_at }) => occurred_at)}::timestamptz[],
             ${rows.map(({ correlation_id }) => correlation_id)}::text[], ${rows.map(({ actor_type }) => actor_type)}::text[],
             ${rows.map(({ actor_id }) => actor_id)}::text[], ${rows.map(({ platform_role }) => platform_role)}::text[],
             ${rows.map(({ tenant_id }) => tenant_id)}::uuid[], ${rows.map(({ project_id }) => project_id)}::uuid[],
             ${rows.map(({ resource_type }) => resource_type)}::text[], ${rows.map(({ resource_id }) => resource_id)}::text[],
             ${rows.map(({ resource_name }) => resource_name)}::text[], ${rows.map(({ action }) => action)}::text[],
             ${rows.map(({ result }) => result)}::text[], ${rows.map(({ reason_code }) => reason_code)}::text[],
             ${rows.map(({ severity }) => severity)}::text[], ${rows.map(({ metadata }) => metadata)}::text[],
             ${rows.map(({ credential_id }) => credential_id)}::text[], ${rows.map(({ jti }) => jti)}::text[], ${rows.map(({ hash }) => hash)}::bytea[])
        as r (chain_id, seq, id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id,
              resource_type, resource_id, resource_name, action, result, reason_code, severity, metadata, credential_id, jti, hash)
    returning seq)
  update audit_heads h
     set seq = case when h.seq + l.n = l.seq and (select count(*) from added) = ${rows.length}::bigint then l.seq end, hash = l.hash
    from unnest(${lasts.map(({ chain_id }) => chain_id)}::uuid[], ${lasts.map(({ seq }) => seq)}::bigint[],
                ${lasts.map(({ hash }) => hash)}::bytea[], ${counts}::bigint[]) as l (chain_id, seq, hash, n)
   where h.chain_id = l.chain_id`

const text = Nullable(Type.String())
/** Whatever somebody may have put there: the table's own checks can be dropped by its owner. */
const FoundRow = Exactly({
  chain_id: Type.String(),
  seq: Type.Number(),
  id: text,
  occurred_at: text,
  correlation_id: text,
  actor_type: text,
  actor_id: text,
  platform_role: text,
  tenant_id: text,
  project_id: text,
  resource_type: text,
  resource_id: text,
  resource_name: text,
  action: text,
  result: text,
  reason_code: text,
  severity: text,
  metadata: text,
  credential_id: text,
  jti: text,
  hash: Nullable(Bytes),
})
export type FoundRow = Static<typeof FoundRow>

/** To the microsecond, the era and the last blank: what is not in the text could be changed unseen. */
const found = sqlPart(`
  select chain_id, seq, id,
         coalesce(to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), occurred_at::text)
           || case when occurred_at < timestamptz '0001-01-01 00:00:00+00' then ' BC' else '' end as occurred_at,
         correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id, resource_type, resource_id, resource_name, action, result,
         reason_code, severity, metadata::text as metadata, credential_id, jti, hash
    from audit_logs`)

/** Rows as the database has them now, in the order of their chains; one that stands nowhere is in none. */
export const firstRows = (limit: number) => sql(FoundRow)`
  ${found} where chain_id is not null and seq is not null order by chain_id, seq limit ${limit}`

export const rowsAfter = (chain_id: string, seq: number, limit: number) => sql(FoundRow)`
  ${found}
   where (chain_id, seq) > (${chain_id}::uuid, ${seq}::bigint)
   order by chain_id, seq limit ${limit}`

export const countRows = () => sql(Exactly({ count: Type.Integer() }))`
  select count(*) as count from audit_logs`

/** A row that is not the only one at its place, or has none: the key of the table, too, can be dropped by its owner. */
export const rowsOutOfPlace = () => sql(Exactly({ chain_id: text, seq: Nullable(Type.Number()) }))`
  select chain_id, seq from audit_logs
   group by chain_id, seq having count(*) > 1 or chain_id is null or seq is null
   order by chain_id, seq`

export const allHeads = () => sql(Head)`
  select chain_id, seq, hash from audit_heads order by chain_id`

export const hashesAt = (chain_ids: readonly string[], seqs: readonly number[]) => sql(Exactly({ chain_id: Type.String(), hash: Bytes }))`
  select a.chain_id, a.hash
    from unnest(${chain_ids}::uuid[], ${seqs}::bigint[]) as r (chain_id, seq) join audit_logs a using (chain_id, seq)`
