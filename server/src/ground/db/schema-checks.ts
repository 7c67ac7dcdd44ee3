import type { Reader } from './database.ts'
import { readMigrations } from './migrate.ts'
import { appliedMigrations } from './schema-queries.ts'

/** Whether exactly this version's migrations were applied. */
export const schemaIsCurrent = async (reader: Reader): Promise<boolean> => {
  const applied = await reader.many(appliedMigrations()).catch((error: { code?: string }) => {
    // Not there, or not ours to see: nobody has prepared this database for this role.
    if (error.code === '42P01' || error.code === '42501') return []
    throw error
  })
  const known = await readMigrations()
  return applied.length === known.length && known.every(({ name, hash }, at) => applied[at]?.name === name && applied[at]?.hash === hash)
}
