import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { standbyNamed } from './primary-guard.ts'

const folder = fileURLToPath(new URL('../../../../db/', import.meta.url))
/** Held by whoever changes the tables as a whole. */
export const migrationLock = 7_290_431

interface Migration {
  name: string
  text: string
  hash: string
}

export const readMigrations = async (): Promise<Migration[]> => {
  const names = (await readdir(`${folder}migrations`)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${folder}migrations/${name}`, 'utf8')
      return { name, text, hash: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

const quoted = (identifier: string) => `"${identifier.replaceAll('"', '""')}"`

/**
 * Brings the schema up to date and returns the names it applied. One transaction for all of it: killed half way, nothing
 * happened. `also` runs inside it after the migrations (mirrors of what the code owns).
 */
export const migrate = async ({
  ownerUrl,
  appRole,
  also,
}: {
  ownerUrl: string
  appRole: string
  also?: (run: (text: string, values?: unknown[]) => Promise<unknown>) => Promise<void>
}): Promise<string[]> => {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'gatehouse-migrate', connectionTimeoutMillis: 5000 })
  // A line that breaks is told by the statement under way; without a listener it would end the process as well.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows: server } = await client.query(
      "select current_setting('server_version_num')::int as version, pg_is_in_recovery() as is_in_recovery",
    )
    if (server[0].is_in_recovery) throw new Error(standbyNamed)
    if (server[0].version < 150_000) throw new Error('PostgreSQL 15 or newer is needed; this one is older.')
    await client.query('begin')
    // Several servers may start at once; one migrates, the others wait here.
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
    await client.query(
      'create table if not exists schema_migrations (name text primary key, hash text not null, applied_at timestamptz not null default now())',
    )
    const { rows } = await client.query<{ name: string; hash: string }>('select name, hash from schema_migrations')
    const applied = new Map(rows.map((row) => [row.name, row.hash]))
    const known = await readMigrations()
    for (const name of applied.keys())
      if (!known.some((migration) => migration.name === name))
        throw new Error(`The database has migration ${name}, which this version does not know: it belongs to a newer version.`)
    const fresh: string[] = []
    for (const { name, text, hash } of known) {
      const before = applied.get(name)
      if (before === hash) continue
      if (before) throw new Error(`Migration ${name} was changed after it was applied; write a new one instead.`)
      await client.query(text)
      await client.query('insert into schema_migrations (name, hash) values ($1, $2)', [name, hash])
      fresh.push(name)
    }
    await also?.((text, values) => client.query(text, values))
    await client.query((await readFile(`${folder}grants.sql`, 'utf8')).replaceAll(':app', () => quoted(appRole)))
    await client.query('commit')
    return fresh
  } finally {
    await client.end()
  }
}
