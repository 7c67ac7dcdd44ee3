import { createHash } from 'node:crypto'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { to as copyTo } from 'pg-copy-streams'
import { appliedMigrations } from '../schema-queries.ts'
import { formatVersion, type Header, lineOf, sealOf } from './backup-format.ts'
import { type CopiedTable, copiedTables } from './copied-tables.ts'
import { copyOut, lockTables } from './copy-commands.ts'
import { numberedColumns, snapshotOrigin } from './copy-queries.ts'
import { CopyRefused } from './copy-refused.ts'
import { keptFile } from './kept-file.ts'
import { asOwner, type OwnerSession } from './owner-session.ts'
import { proveBackup } from './prove-backup.ts'
import type { TableCount } from './read-backup.ts'

export interface BackupOptions {
  /** As the role that owns the tables: no other may read them all. */
  readonly ownerUrl: string
  /** A file that does not exist yet, or a stream, which is ended. A file is read back and proved; of a stream nothing is known once it is written. */
  readonly to: string | Writable
}

export interface BackedUp {
  readonly created_at: string
  readonly installation_id: string
  readonly epoch: number
  readonly tables: readonly TableCount[]
  readonly bytes: number
  /** Of all but the last line, which holds it. */
  readonly sha256: string
}

const sameTables = (one: readonly CopiedTable[], other: readonly CopiedTable[]) => JSON.stringify(one) === JSON.stringify(other)

const headerOf = async (session: OwnerSession): Promise<Header> => {
  const migrations = await session.many(appliedMigrations())
  const locked = await copiedTables(session)
  await session.run('begin isolation level repeatable read read only')
  // Before the snapshot: a table that somebody truncates is seen empty even by those whose snapshot is older.
  await session.run(
    lockTables(
      locked.map(({ name }) => name),
      'access share',
    ),
  )
  const [origin] = await session.many(snapshotOrigin())
  const tables = await copiedTables(session)
  if (!origin || !sameTables(tables, locked) || (await session.many(appliedMigrations())).length !== migrations.length)
    throw new CopyRefused('The database was being prepared just now; try again.')
  const numbered = await session.many(numberedColumns())
  return { format: 'gatehouse-backup', version: formatVersion, ...origin, migrations, tables, numbered }
}

/** In copy format a row is a line: an end of line inside a value is escaped. */
const rowsIn = (piece: Buffer): number => {
  let rows = 0
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) rows += 1
  return rows
}

/**
 * Writes everything that the database holds into one file, as it stood at one moment, while the servers go on working. Rows pass
 * through and are never held. Secrets are in it as they are in the tables, sealed; the keys that open them are not in the database,
 * so they are not in a backup.
 */
export const backup = ({ ownerUrl, to }: BackupOptions): Promise<BackedUp> =>
  asOwner(ownerUrl, 'gatehouse-backup', async (session) => {
    const header = await headerOf(session)
    const tables: TableCount[] = []
    const contents = async function* (): AsyncGenerator<Buffer> {
      yield lineOf(header)
      for (const table of header.tables) {
        let rows = 0
        for await (const piece of session.stream(copyTo(copyOut(table))) as AsyncIterable<Buffer>) {
          rows += rowsIn(piece)
          yield lineOf({ bytes: piece.length })
          yield piece
        }
        tables.push({ name: table.name, rows })
        yield lineOf({ table: table.name, rows })
      }
    }
    let bytes = 0
    let sha256 = ''
    const sealed = async function* (packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      const hash = createHash('sha256')
      for await (const piece of packed) {
        hash.update(piece)
        bytes += piece.length
        yield piece
      }
      sha256 = hash.digest('hex')
      const seal = sealOf(sha256)
      bytes += seal.length
      yield seal
    }
    const write = (destination: Writable) => pipeline(contents, createGzip(), sealed, destination)
    const prove = async (from: string) => proveBackup(session, { ownerUrl, from, header, tables })
    await (typeof to === 'string' ? keptFile(to, write, prove) : write(to))
    const { created_at, installation_id, epoch } = header
    return { created_at, installation_id, epoch, tables, bytes, sha256 }
  })
