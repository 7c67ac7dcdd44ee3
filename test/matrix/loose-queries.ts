import type { Database, Reader, Tx } from '../../server/src/ground/db/database.ts'
import type { Statement } from '../../server/src/ground/db/statement.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'

/** A server one of whose queries has lost what bounds it. */
export const without =
  (from: string, predicate: RegExp) =>
  (parts: ServerParts): ServerParts => {
    const loose = <Row>(statement: Statement<Row>): Statement<Row> => {
      const text = statement.text.includes(from)
        ? statement.text.replace(predicate, (_, value: string) => `${value}::uuid is not null`)
        : statement.text
      return text === statement.text ? statement : { ...statement, text, name: `${statement.name.slice(0, 20)}_loose` }
    }
    const reading = (reader: Reader): Reader => ({
      one: (statement) => reader.one(loose(statement)),
      maybe: (statement) => reader.maybe(loose(statement)),
      many: (statement) => reader.many(loose(statement)),
    })
    const within = (tx: Tx): Tx => ({ ...tx, ...reading(tx) })
    const database: Database = {
      ...parts.database,
      reader: reading(parts.database.reader),
      transaction: (mode, work, options) => parts.database.transaction(mode, (tx) => work(within(tx)), options),
    }
    return { ...parts, database }
  }
