import type { Database, Reader } from '../../server/src/ground/db/database.ts'
import type { Statement } from '../../server/src/ground/db/statement.ts'

/** The database, and what was asked of it. */
export const countedDatabase = (database: Database) => {
  const asked: string[] = []
  const counted = (reader: Reader): Reader => {
    const note = <Row>(statement: Statement<Row>) => {
      asked.push(statement.text)
      return statement
    }
    return {
      one: (statement) => reader.one(note(statement)),
      maybe: (statement) => reader.maybe(note(statement)),
      many: (statement) => reader.many(note(statement)),
    }
  }
  return {
    database: {
      ...database,
      reader: counted(database.reader),
      transaction: (mode, within) => database.transaction(mode, (tx) => within({ ...tx, ...counted(tx) })),
    } satisfies Database,
    /** How many of the statements since the last time name this table. */
    naming: (table: string) => asked.filter((text) => new RegExp(`\\b(?:from|join)\\s+${table}\\b`).test(text)).length,
    forget: () => asked.splice(0),
  }
}
