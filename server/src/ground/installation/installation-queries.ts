import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { listenerName } from '../db/listen.ts'
import { columns, identifier, sql } from '../db/statement.ts'

const Installation = Exactly({
  id: Type.String(),
  epoch: Type.Integer(),
  is_restored: Type.Boolean(),
  checkpoint_number: Type.Integer(),
})
const Sealed = Exactly({ name: Type.String(), envelope: Type.Unknown() })

export const readInstallation = () => sql(Installation)`
  select ${columns(Installation)} from installation`

export const lockInstallation = () => sql(Installation)`
  select ${columns(Installation)} from installation for update`

export const noteCheckpoint = (number: number) => sql(Installation)`
  update installation set checkpoint_number = ${number} returning ${columns(Installation)}`

/** Past every epoch that was ever signed: a backup restored twice must not begin the same epoch twice. */
export const bumpEpoch = (signed: number) => sql(Installation)`
  update installation set epoch = greatest(epoch, ${signed}::integer) + 1, is_restored = false returning ${columns(Installation)}`

const Acceptance = Exactly({ at: Type.String(), epoch: Type.Integer(), reason: Type.String(), found: Nullable(Type.String()) })

/** When a restore was accepted, as the record has it. */
export const recordedAcceptances = () => sql(Acceptance)`
  select occurred_at as at, (metadata ->> 'epoch')::int as epoch, metadata ->> 'reason' as reason, metadata ->> 'found' as found
    from audit_logs where action = 'installation.restore.accept' order by seq`

/** The connections on which this database's servers wait to be woken. Each is named after the fingerprints of the keys that its server knows. */
export const listeningServers = () => sql(Exactly({ name: Type.String(), address: Nullable(Type.String()), pid: Type.Integer() }))`
  select application_name as name, host(client_addr) as address, pid from pg_stat_activity
   where datname = current_database() and usename = current_user and starts_with(application_name, ${listenerName})
   order by pid`

export const sealedSecret = (name: string) => sql(Sealed)`
  select name, envelope from installation_secrets where name = ${name}`

export const insertSecret = (name: string, envelope: string, now: string) => sql(Sealed)`
  insert into installation_secrets (name, envelope, created_at) values (${name}, ${envelope}::jsonb, ${now})
  on conflict (name) do nothing
  returning name, envelope`

const Found = Exactly({ id: Type.String(), envelope: Type.Unknown(), bound_by: Type.Array(Type.String()) })

/** Any table with envelopes, as its room describes it; the names come from code, never from a request. */
export const sealedWithOtherKeys = (
  table: string,
  id: string,
  column: string,
  bound_by: readonly string[],
  active_id: string,
  limit: number,
) => sql(Found)`
  select ${identifier(id)}::text as id, ${identifier(column)} as envelope,
         array(select to_jsonb(t) ->> b.name from unnest(${bound_by}::text[]) with ordinality as b (name, n) order by b.n) as bound_by
    from ${identifier(table)} t
   where ${identifier(column)} ->> 'key_id' is distinct from ${active_id} and ${identifier(column)} is not null
   order by 1 limit ${limit} for update`

export const replaceEnvelope = (table: string, id: string, column: string, row: string, envelope: string) => sql(
  Exactly({ id: Type.String() }),
)`
  update ${identifier(table)} set ${identifier(column)} = ${envelope}::jsonb where ${identifier(id)}::text = ${row} returning ${identifier(id)}::text as id`
