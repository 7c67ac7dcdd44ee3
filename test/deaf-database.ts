import type { Database } from '../server/src/ground/db/database.ts'
import { epochsOf } from '../server/src/ground/epochs/epoch-queries.ts'
import type { LiveServer } from './live-server.ts'

/** The database, but whoever asks in a transaction of writing whether something has changed is told how it was when this was made. */
export const deafDatabase = async ({ database, sql }: Pick<LiveServer, 'database' | 'sql'>): Promise<Database> => {
  const scopes = await sql<{ id: string }>('select id from epochs')
  const before = await database.reader.one(epochsOf(scopes.map(({ id }) => id)))
  return {
    ...database,
    transaction: (mode, within) =>
      database.transaction(mode, (tx) =>
        within({ ...tx, one: async (statement) => (/from epochs/.test(statement.text) ? (before as never) : tx.one(statement)) }),
      ),
  }
}
