import type { Reader } from '#ground/db/database.ts'
import type { Statement } from '#ground/db/statement.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'

/** For what never changes once it is there, so that nothing has to be proved of what is kept. That something is not there is not kept. */
export const keepFound = <Row extends object>(
  reader: Pick<Reader, 'maybe'>,
  find: (id: string) => Statement<Row>,
  most_entries = 100_000,
) => {
  const kept = recentlyUsed<Row>(most_entries)
  return async (id: string): Promise<Row | undefined> => {
    const known = kept.get(id)
    if (known) return known
    const found = await reader.maybe(find(id))
    if (found) kept.set(id, found)
    return found
  }
}
