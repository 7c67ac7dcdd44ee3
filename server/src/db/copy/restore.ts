import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { pipeline as drained } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { from as copyFrom } from 'pg-copy-streams'
import { migrationLock } from '../migrate.ts'
import { appliedMigrations } from '../schema-queries.ts'
import type { TableCount } from './backup.ts'
import { type Header, parseHeader, parseInTable, type Unframed, unframed } from './backup-format.ts'
import { type CopiedTable, copiedTables, tablesOfPreparation } from './copied-tables.ts'
import { analyzeTables, copyIn, filledAmong, lockTables, markRestored, numberOnFrom, truncateTables } from './copy-commands.ts'
import { isPreparedFor, numberedColumns, otherSessions } from './copy-queries.ts'
import { CopyRefused } from './copy-refused.ts'
import { fileRefused } from './kept-file.ts'
import { asOwner, type OwnerSession } from './owner-session.ts'
import { type SealedPart, sealedPart } from './sealed-part.ts'

export interface RestoreOptions {
  /** A database that was prepared by the same version and never used, as the role that owns its tables. */
  readonly ownerUrl: string
  /** The role that the servers use. */
  readonly appRole: string
  readonly from: string
}

export interface Restored {
  /** The moment to which everything went back. */
  readonly created_at: string
  readonly installation_id: string
  /** The epoch of the backup: it moves on when the restore is accepted. */
  readonly epoch: number
  readonly tables: readonly TableCount[]
}

const damaged = (error: unknown): never => {
  const isUnpacking = String((error as NodeJS.ErrnoException).code).startsWith('Z_')
  throw isUnpacking ? new CopyRefused('The backup is damaged: it cannot be unpacked.', { cause: error }) : error
}

/** The bytes of a whole file, unpacked; what was read is hashed again, because a file may change while it is read. */
const unpacked = async function* (file: FileHandle, { length }: SealedPart, hash: Hash): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  const hashed = async function* (packed: AsyncIterable<Buffer>) {
    for await (const piece of packed) {
      hash.update(piece)
      yield piece
    }
  }
  // What goes wrong reaches the reader of the last stream.
  pipeline(file.createReadStream({ start: 0, end: length - 1, autoClose: false }), hashed, gunzip, () => {})
  try {
    yield* gunzip as AsyncIterable<Buffer>
  } catch (error) {
    damaged(error)
  }
}

const requireSameSchema = async (session: OwnerSession, header: Header, tables: readonly CopiedTable[]): Promise<void> => {
  const applied = await session.many(appliedMigrations())
  const differs = (one: typeof applied, other: typeof applied) =>
    one.filter(({ name, hash }) => !other.some((migration) => migration.name === name && migration.hash === hash))
  const lacking = differs(header.migrations, applied)
  const ahead = differs(applied, header.migrations)
  if (lacking.length > 0)
    throw new CopyRefused(
      `The backup is of another version: the database lacks its migration ${lacking[0]!.name}; prepare it with that version.`,
    )
  if (ahead.length > 0)
    throw new CopyRefused(
      `The backup is of an older version: it lacks migration ${ahead[0]!.name}; restore it with that version, then upgrade.`,
    )
  const namesOf = (numbered: Header['numbered']) => JSON.stringify(numbered.map(({ table, column }) => [table, column]))
  const isNumberedAlike = namesOf(await session.many(numberedColumns())) === namesOf(header.numbered)
  if (JSON.stringify(tables) !== JSON.stringify(header.tables) || !isNumberedAlike)
    throw new CopyRefused('The tables of the backup are not those of the database, though their migrations are the same.')
}

/** From here on nobody else can use the tables; what was checked stays true until the end. */
const requireUnused = async (session: OwnerSession, appRole: string, tables: readonly CopiedTable[]): Promise<void> => {
  const [prepared] = await session.many(isPreparedFor(appRole))
  if (!prepared?.is_prepared) throw new CopyRefused(`The database is not prepared for the role ${appRole}.`)
  // A server knows the secrets of the installation that it started with, and would go on recording with them.
  const [others] = await session.many(otherSessions(appRole))
  if (others && others.sessions > 0)
    throw new CopyRefused(`The role ${appRole} is still connected to the database; stop every server that uses it, then try again.`)
  const names = tables.map(({ name }) => name)
  await session.run(lockTables([...names, 'schema_migrations'], 'access exclusive'))
  const business = names.filter((name) => !tablesOfPreparation.has(name))
  const parse = (row: unknown) => (row as { name: string }).name
  const filled = await session.many({ name: '', text: filledAmong(business), values: [], parse })
  if (filled.length > 0)
    throw new CopyRefused(`The database is in use: there are rows in ${filled.sort().join(', ')}; restore into one that was only prepared.`)
}

const fill = async (session: OwnerSession, backup: Unframed, table: CopiedTable): Promise<TableCount> => {
  let rows = -1
  const contents = async function* () {
    for (;;) {
      const line = parseInTable(await backup.line())
      if ('bytes' in line) yield* backup.bytes(line.bytes)
      else if (line.table === table.name) {
        rows = line.rows
        return
      } else throw new CopyRefused(`The backup is damaged: ${line.table} stands where ${table.name} should.`)
    }
  }
  const into = session.stream(copyFrom(copyIn(table)))
  await drained(contents, into)
  if (into.rowCount !== rows)
    throw new CopyRefused(`The backup holds ${rows} rows of ${table.name}, but the database took ${into.rowCount}; nothing was restored.`)
  return { name: table.name, rows }
}

const load = async (session: OwnerSession, appRole: string, backup: Unframed, isAsSealed: () => boolean): Promise<Restored> => {
  const header = parseHeader(await backup.line())
  await session.run('begin')
  // Nobody prepares the database meanwhile, and a server that starts now waits until it is all there.
  await session.run(`select pg_advisory_xact_lock(${migrationLock})`)
  const target = await copiedTables(session)
  await requireSameSchema(session, header, target)
  await requireUnused(session, appRole, target)
  const names = target.map(({ name }) => name)
  await session.run(truncateTables(names))
  await session.run('set constraints all deferred')
  const tables: TableCount[] = []
  for (const table of target) tables.push(await fill(session, backup, table))
  if (!(await backup.isAtEnd()) || !isAsSealed()) throw new CopyRefused('The backup changed while it was read; nothing was restored.')
  for (const column of header.numbered) await session.run(numberOnFrom(column))
  await session.run(markRestored())
  await session.run('set constraints all immediate')
  await session.run(analyzeTables(names))
  await session.run('commit')
  const { created_at, installation_id, epoch } = header
  return { created_at, installation_id, epoch, tables }
}

/**
 * Puts a backup into a database that was prepared and never used. The whole file is verified before the database is touched, and
 * all of it goes in by one transaction: stopped half way, nothing happened. What was restored is the past: it must be accepted before a
 * server may use it.
 */
export const restore = async ({ ownerUrl, appRole, from }: RestoreOptions): Promise<Restored> => {
  const refuse = fileRefused(`The backup ${from} cannot be read`)
  const file = await open(from, 'r').catch(refuse)
  try {
    const sealed = await sealedPart(file).catch(refuse)
    const hash = createHash('sha256')
    const backup = unframed(unpacked(file, sealed, hash))
    try {
      return await asOwner(ownerUrl, 'gatehouse-restore', (session) =>
        load(session, appRole, backup, () => hash.digest('hex') === sealed.sha256),
      ).catch(refuse)
    } finally {
      await backup.close()
    }
  } finally {
    await file.close()
  }
}
