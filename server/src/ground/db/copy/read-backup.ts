import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { pipeline as drained } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { from as copyFrom } from 'pg-copy-streams'
import { parseInTable, type Unframed, unframed } from './backup-format.ts'
import type { CopiedTable } from './copied-tables.ts'
import { copyIn } from './copy-commands.ts'
import { CopyRefused } from './copy-refused.ts'
import { fileRefused } from './kept-file.ts'
import type { OwnerSession } from './owner-session.ts'
import { type SealedPart, sealedPart } from './sealed-part.ts'

export interface TableCount {
  readonly name: string
  readonly rows: number
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

/** Reads a table of a backup into the table of this name. */
export const fillTable = async (
  session: OwnerSession,
  backup: Unframed,
  table: CopiedTable,
  schema: 'public' | 'pg_temp' = 'public',
): Promise<TableCount> => {
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
  const into = session.stream(copyFrom(copyIn(table, schema)))
  await drained(contents, into)
  if (into.rowCount !== rows)
    throw new CopyRefused(`The backup holds ${rows} rows of ${table.name}, but the database took ${into.rowCount}; nothing was restored.`)
  return { name: table.name, rows }
}

/** Opens a backup whose seal holds. After the last byte, `isAsSealed` says whether the bytes read are those that the seal vouches for. */
export const withBackup = async <T>(from: string, read: (backup: Unframed, isAsSealed: () => boolean) => Promise<T>): Promise<T> => {
  const refuse = fileRefused(`The backup ${from} cannot be read`)
  const file = await open(from, 'r').catch(refuse)
  try {
    const sealed = await sealedPart(file).catch(refuse)
    const hash = createHash('sha256')
    const backup = unframed(unpacked(file, sealed, hash))
    try {
      return await read(backup, () => hash.digest('hex') === sealed.sha256).catch(refuse)
    } finally {
      await backup.close()
    }
  } finally {
    await file.close()
  }
}
