import { type Database, openDatabase } from '@gatehouse/server/ground/db/database'
import pg from 'pg'
import type { Question } from './questions.ts'

/** A role that somebody has: on the platform, or in the tenant or project with that id. */
export interface HeldRole {
  readonly user_id: string
  readonly scope: string
  readonly role: string
}

const held = (tier: 'tenant' | 'project') => `
  select b.principal_id as user_id, b.${tier}_id::text as scope, d.name as role
    from ${tier}_role_bindings b
    join role_definition_versions v on v.id = b.role_version_id
    join role_definitions d on d.id = v.role_definition_id and d.state = 'active' and d.deleted_at is null
    join ${tier}_memberships m on m.${tier}_id = b.${tier}_id and m.user_id = b.principal_id and m.deleted_at is null
   where b.principal_type = 'user' and b.deleted_at is null and (b.expires_at is null or b.expires_at > now())`
const heldOnPlatform = `
  select b.principal_id as user_id, 'platform' as scope, d.name as role
    from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id and d.state = 'active'
   where b.principal_type = 'user' and b.deleted_at is null`
const belonging = `
  select m.user_id, m.project_id::text as scope, 'belonging' as role from project_memberships m where m.deleted_at is null`

const everything = [heldOnPlatform, held('tenant'), held('project'), belonging].join(' union all ')
const ofOne = [
  `${heldOnPlatform} and b.principal_id = $1`,
  `${held('tenant')} and b.principal_id = $1 and b.tenant_id = $2`,
  `${held('project')} and b.principal_id = $1 and b.project_id = $3`,
  `${belonging} and m.user_id = $1 and m.project_id = $3`,
].join(' union all ')

/** The tables, for the peers by a lean statement and for ours by the product's own reader. */
export interface Store {
  /** The roles of everybody. */
  everyRole(): Promise<HeldRole[]>
  /** The roles of one person in one place: one statement, prepared by name, on the same rows. */
  rolesFor(question: Question): Promise<HeldRole[]>
  readonly database: Database
  close(): Promise<void>
}

export const openStore = (url: string): Store => {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  // A line that is cut while the database stops is no failure of the bench.
  pool.on('error', () => {})
  // As many as the server keeps for its decisions; patient, because a bench may share its machine.
  const database = openDatabase({ url, max_connections: 3, statement_timeout_ms: 60_000 })
  return {
    database,
    everyRole: async () => (await pool.query<HeldRole>(everything)).rows,
    rolesFor: async ({ user_id, tenant_id, project_id }) =>
      (await pool.query<HeldRole>({ name: 'roles_for', text: ofOne, values: [user_id, tenant_id, project_id] })).rows,
    close: async () => {
      await pool.end()
      await database.close()
    },
  }
}

/** By person, then by scope. */
export const byPerson = (roles: readonly HeldRole[]): Map<string, Map<string, string[]>> => {
  const people = new Map<string, Map<string, string[]>>()
  for (const { user_id, scope, role } of roles) {
    const scopes = people.get(user_id) ?? new Map<string, string[]>()
    people.set(user_id, scopes)
    scopes.set(scope, [...(scopes.get(scope) ?? []), role])
  }
  return people
}
