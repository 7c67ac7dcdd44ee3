import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { Parse } from 'typebox/value'
import { type Header, parseHeader } from './backup-format.ts'
import { checksumOf, dropRehearsal, orphansOf, rehearsalTable } from './copy-commands.ts'
import { foreignKeys, mayRehearse } from './copy-queries.ts'
import { CopyRefused } from './copy-refused.ts'
import { asOwner, type OwnerSession } from './owner-session.ts'
import { fillTable, type TableCount, withBackup } from './read-backup.ts'

interface Written {
  readonly ownerUrl: string
  readonly from: string
  readonly header: Header
  readonly tables: readonly TableCount[]
}

const Checksum = Exactly({ checksum: Type.String() })
const Orphans = Exactly({ has_orphans: Type.Boolean() })
const asked = <Row>(text: string, parse: (row: unknown) => Row) => ({ name: '', text, values: [], parse })
const checksumIn = async (session: OwnerSession, name: string, schema: 'public' | 'pg_temp') =>
  (await session.many(asked(checksumOf(name, schema), (row) => Parse(Checksum, row))))[0]!.checksum

/** Rows of one table at a time, so that the rehearsal needs no more room than the largest of them. */
const rehearse = async (source: OwnerSession, { ownerUrl, from, header, tables }: Written): Promise<void> =>
  withBackup(from, (backup, isAsSealed) =>
    asOwner(ownerUrl, 'gatehouse-rehearsal', async (session) => {
      if (JSON.stringify(parseHeader(await backup.line())) !== JSON.stringify(header))
        throw new CopyRefused('The header of the backup is not the one that was written.')
      for (const [at, table] of header.tables.entries()) {
        await session.run(rehearsalTable(table.name))
        const { rows } = await fillTable(session, backup, table, 'pg_temp')
        if (
          rows !== tables[at]!.rows ||
          (await checksumIn(session, table.name, 'pg_temp')) !== (await checksumIn(source, table.name, 'public'))
        )
          throw new CopyRefused(`The rows of ${table.name} in the backup are not those of the database.`)
        await session.run(dropRehearsal(table.name))
      }
      if (!(await backup.isAtEnd()) || !isAsSealed()) throw new CopyRefused('The backup changed while it was read.')
    }),
  )

/**
 * Reads the file back, as a restore would, into temporary tables with the same checks and unique indexes, and compares every row with the
 * snapshot that the backup was made from. Foreign keys cannot be rehearsed a table at a time: they are looked up in the snapshot.
 */
export const proveBackup = async (source: OwnerSession, written: Written): Promise<void> => {
  const [rehearsal] = await source.many(mayRehearse())
  if (!rehearsal?.may)
    throw new CopyRefused(
      'The backup cannot be proved: the role in DATABASE_OWNER_URL may not create temporary tables; grant it TEMPORARY.',
    )
  for (const key of await source.many(foreignKeys())) {
    const [found] = await source.many(asked(orphansOf(key), (row) => Parse(Orphans, row)))
    if (found?.has_orphans) throw new CopyRefused(`The rows do not fit the tables of the database: ${key.name} is violated.`)
  }
  await rehearse(source, written)
}
