import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import { prepareDatabase } from '@gatehouse/server/process/prepare-database'
import pg from 'pg'
import { catalogueQueries } from './catalogue.ts'
import type { Document } from './document.ts'

type Catalogue = Record<keyof typeof catalogueQueries, [owner: string, text: string][]>

const readCatalogue = async (url: string): Promise<Catalogue> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const read = async (name: string, text: string) => [name, (await client.query({ text, rowMode: 'array' })).rows] as const
    const entries: (readonly [string, unknown[][]])[] = []
    for (const [name, text] of Object.entries(catalogueQueries)) entries.push(await read(name, text))
    return Object.fromEntries(entries) as Catalogue
  } finally {
    await client.end()
  }
}

const textOf = (catalogue: Catalogue): string => {
  const { unknown } = catalogue
  if (unknown.length > 0)
    throw new Error(`db/schema.sql cannot say this yet: ${unknown.map(([name, kind]) => `${kind} ${name}`).join(', ')}`)
  const of = (rows: [string, string][], table: string) => rows.filter(([owner]) => owner === table).map(([, text]) => text)
  const statement = (text: string) => `${text};`
  const tables = catalogue.tables.map(([table]) => {
    const members = [...of(catalogue.columns, table), ...of(catalogue.constraints, table)]
    const after = [catalogue.indexes, catalogue.triggers, catalogue.grants, catalogue.columnGrants].flatMap((rows) => of(rows, table))
    return [`create table ${table} (`, members.map((member) => `  ${member}`).join(',\n'), ');', ...after.map(statement)].join('\n')
  })
  const functions = catalogue.functions.map(([, text]) => statement(text.trimEnd()))
  const head = '-- Written by `npm run generate` from the catalogue of a freshly migrated database; read and reviewed, never run.'
  return `${[head, ...tables, ...functions].join('\n\n')}\n`
}

const make = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-schema-'))
  // PostgreSQL may run as another user than this process, and must be able to pass through.
  await chmod(folder, 0o755)
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
  const server = await startPostgres({ dataDir: join(folder, 'data'), settings })
  try {
    await prepareDatabase({ ownerUrl: server.ownerUrl, appRole: 'gatehouse_app' })
    return textOf(await readCatalogue(server.ownerUrl))
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

export const schemaDocument: Document = { path: 'db/schema.sql', make }
