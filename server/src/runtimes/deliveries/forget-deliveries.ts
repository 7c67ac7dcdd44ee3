import type { Database } from '#ground/db/database.ts'
import { forgetOver } from './delivery-queries.ts'

/** However many there are, no statement takes long. Returns how many went. */
export const forgetDeliveries = async (database: Database, most_at_once = 5000): Promise<number> => {
  const { count } = await database.transaction('write', (tx) => tx.one(forgetOver(tx.now, most_at_once)))
  return count < most_at_once ? count : count + (await forgetDeliveries(database, most_at_once))
}
