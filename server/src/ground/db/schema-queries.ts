import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from './statement.ts'

/** A role that owns a table, the schema (whose owner may drop what is in it) or everything could undo what the grants forbid. */
export const ownsTables = () => sql(Exactly({ owns_tables: Type.Boolean() }))`
  select exists (select from pg_tables where schemaname = 'public' and pg_has_role(current_user, tableowner, 'member'))
      or (select pg_has_role(current_user, nspowner, 'member') from pg_namespace where nspname = 'public')
      or (select rolsuper from pg_roles where rolname = current_user) as owns_tables`

export const appliedMigrations = () => sql(Exactly({ name: Type.String(), hash: Type.String() }))`
  select name, hash from schema_migrations order by name`
