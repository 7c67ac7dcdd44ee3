import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import { prepareDatabase } from '@gatehouse/server/process/prepare-database'
import { roleIdOf, roleVersionIdOf } from '@gatehouse/server/rails/authz/catalogue'
import pg from 'pg'

/** Fifty people to a tenant, ten to each of its five projects; everybody is bound once in his tenant and once in his project. */
export const peoplePerTenant = 50
export const projectsPerTenant = 5
export const bindingsPerPerson = 2

const id = (kind: number, index: number) => `0000000${kind}-0000-7000-8000-${index.toString(16).padStart(12, '0')}`
const idInSql = (kind: number, index: string) => `('0000000${kind}-0000-7000-8000-' || lpad(to_hex(${index}), 12, '0'))::uuid`

export const userId = (person: number) => id(1, person)
export const tenantId = (tenant: number) => id(2, tenant)
export const projectId = (project: number) => id(3, project)
export const tenantOf = (person: number) => Math.floor(person / peoplePerTenant)
export const projectOf = (person: number) => tenantOf(person) * projectsPerTenant + (person % projectsPerTenant)
export const subjectOf = (person: number) => `p-${person}`

/** By the place in the tenant: one owner, two who run it, three who look at bills, four who only look; the rest belong. */
const tenantRole = `case when i % 50 = 0 then '${roleVersionIdOf('tenant_owner')}' when i % 50 < 3 then '${roleVersionIdOf('tenant_admin')}'
  when i % 50 = 3 then '${roleVersionIdOf('tenant_billing_manager')}' when i % 50 < 6 then '${roleVersionIdOf('tenant_billing_viewer')}'
  when i % 50 < 10 then '${roleVersionIdOf('tenant_viewer')}' else '${roleVersionIdOf('tenant_member')}' end`
const projectRole = `case when i % 50 < 5 then '${roleVersionIdOf('project_owner')}' when i % 50 < 10 then '${roleVersionIdOf('project_admin')}'
  when i % 50 < 35 then '${roleVersionIdOf('project_member')}' else '${roleVersionIdOf('project_viewer')}' end`
/** The role of a version, which a trigger would have filled in. */
const definitionOf = (version: string) => `(select v.role_definition_id from role_definition_versions v where v.id = (${version})::uuid)`
const platformRole = `case when i % 1000 = 999 then '${roleIdOf('platform_superadmin')}' else '${roleIdOf('platform_ops')}' end`

const [user, tenant, project] = [idInSql(1, 'i'), idInSql(2, 'i / 50'), idInSql(3, 'i / 50 * 5 + i % 5')]
const people = (from: number, until: number) => `from generate_series(${from}, ${until - 1}) i`

const insertions = (from: number, until: number, issuer: string) => {
  const tenants = `from generate_series(${from / peoplePerTenant}, ${until / peoplePerTenant - 1}) i`
  const projects = `from generate_series(${(from / peoplePerTenant) * projectsPerTenant}, ${(until / peoplePerTenant) * projectsPerTenant - 1}) i`
  return [
    `insert into users (id, username, oidc_issuer, oidc_subject, created_at)
     select ${user}, 'p-' || i, '${issuer}', 'p-' || i, now() ${people(from, until)}`,
    `insert into organizations (id, type, name, slug, created_at)
     select ${idInSql(2, 'i')}, 'enterprise', 'Bench', 'bench-' || i, now() ${tenants}`,
    `insert into projects (id, org_id, name, slug, created_at)
     select ${idInSql(3, 'i')}, ${idInSql(2, 'i / 5')}, 'Bench', 'bench-' || i, now() ${projects}`,
    `insert into tenant_memberships (id, tenant_id, user_id, created_at) select ${idInSql(4, 'i')}, ${tenant}, ${user}, now() ${people(from, until)}`,
    `insert into project_memberships (id, project_id, user_id, created_at) select ${idInSql(5, 'i')}, ${project}, ${user}, now() ${people(from, until)}`,
    `insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
     select ${idInSql(6, 'i')}, ${tenant}, 'user', ${user}, (${tenantRole})::uuid, ${definitionOf(tenantRole)}, now() ${people(from, until)}`,
    `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
     select ${idInSql(7, 'i')}, ${project}, 'user', ${user}, (${projectRole})::uuid, ${definitionOf(projectRole)}, now() ${people(from, until)}`,
    `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
     select ${idInSql(8, 'i')}, 'user', ${user}, (${platformRole})::uuid, now() ${people(from, until)} where i % 500 = 499`,
    `insert into epochs (id, value, stamp) select ${idInSql(2, 'i')}, 1, gen_random_uuid() ${tenants}`,
  ]
}

/** A database of its own whose population can grow, and nothing else in it. */
export const openWorld = async (issuer: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  // PostgreSQL may have to run as somebody else than we do, and must be able to pass through.
  await chmod(folder, 0o755)
  const postgres = await startPostgres({
    dataDir: join(folder, 'data'),
    settings: { fsync: 'off', shared_buffers: '1GB', max_wal_size: '4GB' },
  })
  await prepareDatabase({ ownerUrl: postgres.ownerUrl, appRole: 'gatehouse_app' })
  const superuser = new pg.Client({ connectionString: postgres.superuserUrl.replace(/postgres$/, 'gatehouse') })
  await superuser.connect()
  let populated = 0
  return {
    folder,
    appUrl: postgres.appUrl,
    postgres_pid: postgres.pid,
    /** Seals what a server keeps in this database. */
    keys: `bench:${randomBytes(32).toString('base64url')}`,
    sql: (text: string) => superuser.query(text),
    /** Written past the triggers, which would look at each row by itself. */
    growTo: async (count: number): Promise<void> => {
      if (count % peoplePerTenant !== 0) throw new Error(`${count} people do not fill their tenants`)
      if (count <= populated) return
      await superuser.query('set session_replication_role = replica')
      for (const insertion of insertions(populated, count, issuer)) await superuser.query(insertion)
      await superuser.query('vacuum analyze')
      populated = count
    },
    stop: async () => {
      await superuser.end()
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type World = Awaited<ReturnType<typeof openWorld>>
