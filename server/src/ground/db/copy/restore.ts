import { migrationLock } from '../migrate.ts'
import { appliedMigrations } from '../schema-queries.ts'
import { type Header, parseHeader, type Unframed } from './backup-format.ts'
import { type CopiedTable, copiedTables, tablesOfPreparation } from './copied-tables.ts'
import {
  analyzeTables,
  filledAmong,
  lockTables,
  markRestored,
  moveAllEpochs,
  numberOnFrom,
  switchTriggers,
  truncateTables,
} from './copy-commands.ts'
import { isPreparedFor, numberedColumns, otherSessions } from './copy-queries.ts'
import { CopyRefused } from './copy-refused.ts'
import { asOwner, type OwnerSession } from './owner-session.ts'
import { fillTable, type TableCount, withBackup } from './read-backup.ts'

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
  await session.run(switchTriggers('disable', names))
  await session.run('set constraints all deferred')
  const tables: TableCount[] = []
  for (const table of target) tables.push(await fillTable(session, backup, table))
  if (!(await backup.isAtEnd()) || !isAsSealed()) throw new CopyRefused('The backup changed while it was read; nothing was restored.')
  for (const column of header.numbered) await session.run(numberOnFrom(column))
  await session.run(markRestored())
  await session.run('set constraints all immediate')
  await session.run(switchTriggers('enable', names))
  await session.run(moveAllEpochs())
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
export const restore = ({ ownerUrl, appRole, from }: RestoreOptions): Promise<Restored> =>
  withBackup(from, (backup, isAsSealed) => asOwner(ownerUrl, 'gatehouse-restore', (session) => load(session, appRole, backup, isAsSealed)))
