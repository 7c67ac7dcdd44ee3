import { type AllocationBook, isGone } from './allocation-book.ts'
import { type Hands, type Managed, whyOf } from './hands.ts'
import type { Log } from './log.ts'
import { failureOf } from './perform-task.ts'

interface Parts {
  readonly hands: Hands
  readonly book: AllocationBook
  readonly log: Log
  readonly node_id: string
}

export interface PuttingAway {
  /** Whether no account is left that our book does not know; where it could not be brought about, it is tried again. */
  readonly isDone: () => Promise<boolean>
  readonly failure: () => string | null
}

/**
 * Accounts that were made before our book was begun: by the node that this machine was, or by ourselves before somebody removed the book.
 * Nobody would ever tell us to take them away, so they go before anything else is done.
 */
export const openPuttingAway = ({ hands, book, log, node_id }: Parts): PuttingAway => {
  let is_done = false
  let failure: string | null = null
  let trying: Promise<boolean> | undefined

  const isKept = ({ allocation_id, username }: Managed): boolean => {
    const known = book.get(allocation_id)
    return known !== undefined && known.username === username && !isGone(known)
  }
  const attempt = async (): Promise<boolean> => {
    try {
      for (const { allocation_id, username } of await hands.putAway(node_id, isKept))
        log('warning', 'account_put_away', { allocation_id, username })
      is_done = true
      failure = null
    } catch (error) {
      const word = failureOf(error)
      if (word !== failure) log('error', 'accounts_left', { failure: word, why: whyOf(error) })
      failure = word
    }
    return is_done
  }

  return {
    isDone: async () => {
      if (is_done) return true
      trying ??= attempt().finally(() => {
        trying = undefined
      })
      return trying
    },
    failure: () => failure,
  }
}
