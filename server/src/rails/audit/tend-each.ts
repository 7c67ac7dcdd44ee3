import type { Database } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import type { Append } from './append.ts'

interface Parts {
  readonly database: Database
  readonly append: Append
}

/**
 * What the product owes to several, each in a transaction of its own: one that cannot be tended must not keep the others from it. Says what
 * was done and what failed; that is tried again the next time.
 */
export const tendEach = async <T, D>(
  { database, append }: Parts,
  cause: string,
  all: readonly T[],
  act: (work: Work, each: T) => Promise<D>,
): Promise<{ readonly done: readonly D[]; readonly failed: readonly unknown[] }> => {
  const done: D[] = []
  const failed: unknown[] = []
  for (const each of all)
    try {
      done.push(
        await database.transaction('write', async (tx) => {
          const work = systemWork(tx, cause, newId('correlation'))
          const did = await act(work, each)
          await append(work)
          return did
        }),
      )
    } catch (error) {
      failed.push(error)
    }
  return { done, failed }
}
