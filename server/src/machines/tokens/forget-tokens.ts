import type { Database } from '#ground/db/database.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { forgetExpired } from './forget-tokens-queries.ts'

/** However many there are, no statement takes long. Returns how many went; a token goes in a later round than those exchanged for it. */
export const forgetTokens = async (database: Database, most_at_once = 5000): Promise<number> => {
  const { count } = await database.transaction('write', async (tx) =>
    tx.one(forgetExpired(tx.now, await readPolicy(tx, 'auth.expired_token_retention_seconds'), most_at_once)),
  )
  return count === 0 ? 0 : count + (await forgetTokens(database, most_at_once))
}
