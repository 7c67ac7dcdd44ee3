import { setImmediate as turn } from 'node:timers/promises'
import type { Database, Reader, Tx } from '../../server/src/ground/db/database.ts'

/** A place in a writing transaction. `during` is when the bytes have left and no answer has come. Statements count from 1. */
export type Point =
  | { readonly at: 'before' | 'during' | 'after'; readonly statement: number }
  | { readonly at: 'before_transaction' | 'before_commit' | 'during_commit' | 'after_commit' }

export const nameOf = (point: { readonly at: string; readonly statement?: number }): string =>
  point.statement === undefined ? point.at : `${point.at} statement ${point.statement}`

/** Told of every point as it is reached; whatever it does then is the fault: nothing, throw, sleep, wait, or end the process. */
export type Reached = (point: Point, tx: Tx | undefined) => unknown

/** The database with a seam at every statement of every writing transaction. Reads pass as they are. */
export const withFaults = (database: Database, reached: Reached): Database => {
  const seamed = (tx: Tx): { readonly seen: Tx; readonly sendLasts: () => Promise<void> } => {
    let statement = 0
    const around = async <T>(run: () => Promise<T>): Promise<T> => {
      statement += 1
      const here = statement
      await reached({ at: 'before', statement: here }, tx)
      const answer = run()
      answer.catch(() => {})
      // One turn of the loop, and the statement has been handed to the kernel.
      await turn()
      await reached({ at: 'during', statement: here }, tx)
      const result = await answer
      await reached({ at: 'after', statement: here }, tx)
      return result
    }
    // What would go out with the commit has a point of its own here, still before whatever is asked after it.
    const lasts: (() => Promise<unknown>)[] = []
    const sendLasts = async () => {
      for (const sendLast of lasts.splice(0)) await sendLast()
    }
    const inTurn = async <T>(run: () => Promise<T>): Promise<T> => {
      await sendLasts()
      return around(run)
    }
    const reader: Reader = {
      one: (asked) => inTurn(() => tx.one(asked)),
      maybe: (asked) => inTurn(() => tx.maybe(asked)),
      many: (asked) => inTurn(() => tx.many(asked)),
    }
    const last: Tx['last'] = (asked, meaning = (error) => error) => {
      lasts.push(() =>
        around(() => tx.many(asked)).catch((error: unknown) => {
          throw meaning(error)
        }),
      )
    }
    return { seen: { now: tx.now, ...reader, last }, sendLasts }
  }
  return {
    ...database,
    transaction: async (mode, within, options) => {
      if (mode === 'read') return database.transaction(mode, within, options)
      await reached({ at: 'before_transaction' }, undefined)
      const result = await database.transaction(
        mode,
        async (tx) => {
          const { seen, sendLasts } = seamed(tx)
          const answered = await within(seen)
          await sendLasts()
          await reached({ at: 'before_commit' }, tx)
          // The commit is sent in the microtasks that follow, before the loop turns.
          setImmediate(() => void reached({ at: 'during_commit' }, undefined))
          return answered
        },
        options,
      )
      await reached({ at: 'after_commit' }, undefined)
      return result
    },
  }
}

/** Lets nobody on until so many have come. */
export const barrier = (parties: number) => {
  let arrived = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  return () => {
    arrived += 1
    if (arrived >= parties) resolve()
    return promise
  }
}
