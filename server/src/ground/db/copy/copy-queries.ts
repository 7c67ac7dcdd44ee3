import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '../statement.ts'
import { NumberedColumn } from './backup-format.ts'

/** Every table but the list of migrations, which tells of the database and not of what is in it. Generated columns make themselves. */
export const tableColumns = () => sql(Exactly({ name: Type.String(), columns: Type.Array(Type.String()) }))`
  select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migrations'
   group by c.relname
   order by c.relname`

/** A table's references to itself are left out: they are checked when all its rows are in. */
export const tableReferences = () => sql(Exactly({ child: Type.String(), parent: Type.String(), is_deferrable: Type.Boolean() }))`
  select child.relname::text as child, parent.relname::text as parent, bool_and(f.condeferrable) as is_deferrable
    from pg_constraint f join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
   where f.contype = 'f' and f.connamespace = 'public'::regnamespace and f.conrelid <> f.confrelid
   group by child.relname, parent.relname
   order by child.relname, parent.relname`

const ForeignKey = Exactly({
  name: Type.String(),
  child: Type.String(),
  parent: Type.String(),
  from: Type.Array(Type.String()),
  to: Type.Array(Type.String()),
})
export type ForeignKey = Static<typeof ForeignKey>

export const foreignKeys = () => sql(ForeignKey)`
  select f.conname::text as name, child.relname::text as child, parent.relname::text as parent,
         array(select a.attname::text from unnest(f.conkey) with ordinality as k (attnum, n)
                 join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum order by k.n) as from,
         array(select a.attname::text from unnest(f.confkey) with ordinality as k (attnum, n)
                 join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.attnum order by k.n) as to
    from pg_constraint f join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
   where f.contype = 'f' and f.connamespace = 'public'::regnamespace
   order by f.conname, child.relname`

export const mayRehearse = () => sql(Exactly({ may: Type.Boolean() }))`
  select has_database_privilege(current_database(), 'temporary') as may`

/** What holds rows or numbers and is no plain table: partitioned, foreign and materialized ones, sequences that no column numbers its rows by. */
export const notPlainTables = () => sql(Exactly({ name: Type.String() }))`
  select relname::text as name from pg_class c
   where relnamespace = 'public'::regnamespace and relkind in ('p', 'f', 'm', 'S')
     and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')
   order by relname`

/**
 * The columns that number rows, and the last number that each has given. That is no row and has no snapshot: asked within one, the answer
 * is at least as high as any number that the snapshot holds, and as any that a row elsewhere speaks of.
 */
export const numberedColumns = () => sql(NumberedColumn)`
  select t.relname::text as table, a.attname::text as column, coalesce(pg_sequence_last_value(s.oid), 0)::text as last
    from pg_class s
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.deptype = 'i'
    join pg_class t on t.oid = d.refobjid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
   where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace
   order by t.relname, a.attname`

/** The moment of the snapshot and whose rows they are. */
export const snapshotOrigin = () => sql(Exactly({ created_at: Type.String(), installation_id: Type.String(), epoch: Type.Integer() }))`
  select to_char(transaction_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
         id::text as installation_id, epoch
    from installation`

export const otherSessions = (role: string) => sql(Exactly({ sessions: Type.Integer() }))`
  select count(*)::integer as sessions from pg_stat_activity
   where datname = current_database() and usename = ${role} and pid <> pg_backend_pid()`

/** Whether the role was given its rights here, as the preparation of a database does. */
export const isPreparedFor = (role: string) => sql(Exactly({ is_prepared: Type.Boolean() }))`
  select exists (select from pg_roles where rolname = ${role} and has_table_privilege(oid, 'public.installation', 'select')) as is_prepared`
