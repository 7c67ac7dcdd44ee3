import type { Database } from '#ground/db/database.ts'
import { forgetEvents } from './ssh-session-queries.ts'

/** However many there are, no statement takes long. Returns how many went. */
export const forgetNodeEvents = async (database: Database, most_at_once = 5000): Promise<number> => {
  const { count } = await database.transaction('write', (tx) => tx.one(forgetEvents(tx.now, most_at_once)))
  return count < most_at_once ? count : count + (await forgetNodeEvents(database, most_at_once))
}
