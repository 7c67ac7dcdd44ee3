import { Exactly } from '../../contract/src/shapes.ts'
import type { Database } from '../../server/src/ground/db/database.ts'
import { sql } from '../../server/src/ground/db/statement.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'

class Forgotten extends Error {}

/** All of it is done and answered, up to the last statement and every constraint; then it is undone instead of kept. */
const forgettingDatabase = (database: Database): Database => ({
  ...database,
  transaction: async (mode, within, options) => {
    if (mode === 'read') return database.transaction(mode, within, options)
    let result: Awaited<ReturnType<typeof within>>
    await database
      .transaction(
        mode,
        async (tx) => {
          result = await within(tx)
          await tx.many(sql(Exactly({}))`set constraints all immediate`)
          throw new Forgotten()
        },
        options,
      )
      .catch((error: unknown) => {
        if (!(error instanceof Forgotten)) throw error
      })
    return result!
  },
})

/** A server that answers as any other and keeps nothing of what its verbs do: whoever asks next finds the same world. */
export const forgetting = (parts: ServerParts): ServerParts => ({ ...parts, database: forgettingDatabase(parts.database) })
