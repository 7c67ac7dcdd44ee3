import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Reader } from '../../server/src/ground/db/database.ts'

/** The database at the end of a long line: what it says is so many milliseconds old when it is heard. */
export const farDatabase = (database: Database, milliseconds: number): Database => {
  const later = async <T>(answer: Promise<T>): Promise<T> => {
    const said = await answer
    await sleep(milliseconds)
    return said
  }
  const far = (reader: Reader): Reader => ({
    one: (statement) => later(reader.one(statement)),
    maybe: (statement) => later(reader.maybe(statement)),
    many: (statement) => later(reader.many(statement)),
  })
  return {
    ...database,
    reader: far(database.reader),
    transaction: (mode, within) => database.transaction(mode, (tx) => within({ ...tx, ...far(tx) })),
  }
}
