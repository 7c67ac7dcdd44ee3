import pg from 'pg'
import { guardPrimary, type PrimaryGuard, type ServerState, serverStateColumns } from './primary-guard.ts'

/** Wakes those who wait. What is heard carries no truth and may be lost: whoever is woken looks. */
export interface Wakes {
  /** Comes back when something was said under this word, when it is time to look again anyhow, or when the signal ends. */
  readonly next: (word: string, signal: AbortSignal) => Promise<void>
  /** Whether the line stands; while it does not, those who wait look every second. */
  readonly isListening: () => boolean
  readonly close: () => Promise<void>
}

export interface ListenOptions {
  readonly url: string
  readonly channel: string
  readonly onError?: (error: Error) => void
  /** Nobody notifies on a server that was replaced as the primary: its line is silent, though it stands. */
  readonly primary?: PrimaryGuard
  /** Text after the name of the connection in `pg_stat_activity`: what this process shows to other processes. */
  readonly says?: string
  /** How often somebody looks who has heard nothing. */
  readonly look_ms?: { readonly listening: number; readonly deaf: number }
}

/** How `application_name` of the connection begins. */
export const listenerName = 'gatehouse-listen'

const retry_ms = 500
/** A line that is dead without a word would let everybody wait: it is asked so often whether it stands, and has so long to answer. */
const ask_ms = 5000
const answer_ms = 2000

/** A connection of its own, outside of the pool, for the notifications of one channel; opened again whenever it breaks. */
export const listenTo = ({
  url,
  channel,
  says,
  onError = () => {},
  primary = guardPrimary(),
  look_ms = { listening: 10_000, deaf: 1000 },
}: ListenOptions): Wakes => {
  const name = says === undefined ? listenerName : `${listenerName} ${says}`
  const waiting = new Map<string, Set<() => void>>()
  let client: pg.Client | undefined
  let is_listening = false
  let is_closed = false
  let timer: NodeJS.Timeout | undefined

  const wake = (word: string) => {
    for (const woken of [...(waiting.get(word) ?? [])]) woken()
  }
  /** Whatever was said meanwhile was not heard. */
  const wakeAll = () => {
    for (const word of [...waiting.keys()]) wake(word)
  }

  const lost = (broken: pg.Client, error?: Error) => {
    if (broken !== client) return
    client = undefined
    is_listening = false
    clearTimeout(timer)
    broken.end().catch(() => {})
    if (is_closed) return
    if (error) onError(error)
    wakeAll()
    timer = setTimeout(connect, retry_ms)
  }

  const requirePrimary = async (asked: pg.Client) => {
    primary.require((await asked.query<ServerState>(`select ${serverStateColumns}`)).rows[0]!)
  }
  const ask = (asked: pg.Client) => {
    timer = setTimeout(async () => {
      try {
        await requirePrimary(asked)
        if (asked === client) ask(asked)
      } catch (error) {
        lost(asked, error as Error)
      }
    }, ask_ms)
  }

  const connect = async (): Promise<void> => {
    const made = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: answer_ms,
      query_timeout: answer_ms,
      keepAlive: true,
    })
    client = made
    made.on('error', (error) => lost(made, error))
    made.on('end', () => lost(made))
    made.on('notification', ({ payload }) => wake(payload ?? ''))
    try {
      await made.connect()
      await requirePrimary(made)
      // Not as a setting of the connection: the URL may name another, and it would win.
      await made.query(`select set_config('application_name', $1, false)`, [name])
      await made.query(`listen ${made.escapeIdentifier(channel)}`)
      if (made !== client) return
      is_listening = true
      wakeAll()
      ask(made)
    } catch (error) {
      lost(made, error as Error)
    }
  }
  void connect()

  return {
    next: (word, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (signal.aborted || is_closed) return Promise.resolve()
      const those = waiting.get(word) ?? new Set()
      waiting.set(word, those)
      const woken = () => {
        clearTimeout(later)
        those.delete(woken)
        if (those.size === 0 && waiting.get(word) === those) waiting.delete(word)
        signal.removeEventListener('abort', woken)
        resolve()
      }
      const later = setTimeout(woken, is_listening ? look_ms.listening : look_ms.deaf)
      those.add(woken)
      signal.addEventListener('abort', woken)
      return promise
    },
    isListening: () => is_listening,
    close: async () => {
      is_closed = true
      clearTimeout(timer)
      wakeAll()
      const open = client
      client = undefined
      await open?.end().catch(() => {})
    },
  }
}
