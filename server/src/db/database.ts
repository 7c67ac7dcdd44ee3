import type { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Problem } from '../kernel/problem.ts'
import { arrayText } from './array-text.ts'
import { problemOf, worthRetrying } from './database-errors.ts'
import type { Statement } from './statement.ts'

export interface Reader {
  /** Exactly one row, or it is a bug. */
  one<Row>(statement: Statement<Row>): Promise<Row>
  maybe<Row>(statement: Statement<Row>): Promise<Row | undefined>
  many<Row>(statement: Statement<Row>): Promise<Row[]>
}

/** One transaction. */
export interface Tx extends Reader {
  /** The database's clock when the transaction began: the one instant of its work. */
  readonly now: string
  /**
   * Something whose rows nobody waits for: it goes out with the commit, or with whatever is asked before that, and where it fails nothing
   * is committed. `meaning` says what its failure means, where that is not simply what the database says.
   */
  last(statement: Statement<unknown>, meaning?: (error: unknown) => unknown): Promise<void>
}

export interface TransactionOptions {
  /** How long it waits for each lock that somebody else has; as long as for anything if not said. */
  readonly lock_wait_ms?: number
  /** What is asked first, in this order: sent along with the beginning, so that its answers are there or under way when it is asked for. */
  readonly ahead?: readonly Statement<unknown>[]
}

export interface Database {
  /** Single reads, each a snapshot of its own: for what precedes the work (who is this, how often may he ask). */
  readonly reader: Reader
  transaction<T>(mode: 'read' | 'write', within: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Whether the database answers now. */
  ping(): Promise<boolean>
  /** Connections of the pool, and how many wait for one. */
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number }
  close(): Promise<void>
}

const { builtins } = pg.types
const instant = (text: string) => new Date(text).toISOString()
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === builtins.TIMESTAMPTZ) return instant
    if (oid === builtins.INT8) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
}

const begin = {
  read: 'begin isolation level repeatable read read only',
  write: 'begin isolation level read committed',
}

/** What a transaction begins with, in one round trip. */
const opening = (mode: keyof typeof begin, { lock_wait_ms }: TransactionOptions): string =>
  `${begin[mode]}; ${lock_wait_ms === undefined ? '' : `set local lock_timeout = ${Math.ceil(lock_wait_ms)}; `}select transaction_timestamp() as now`

const queryOf = ({ name, text, values }: Statement<unknown>): pg.QueryConfig => ({
  name,
  text,
  values: values.map((value) => (Array.isArray(value) ? arrayText(value) : value)),
})

const attempts = 4

const readerOf = (many: Reader['many']): Reader => ({
  many,
  maybe: async (statement) => {
    const rows = await many(statement)
    if (rows.length > 1) throw new Error(`expected one row at most, got ${rows.length}`)
    return rows[0]
  },
  one: async (statement) => {
    const rows = await many(statement)
    if (rows.length !== 1) throw new Error(`expected one row, got ${rows.length}`)
    return rows[0]!
  },
})

export interface DatabaseOptions {
  url: string
  max_connections?: number
  /** Longer than this is as good as down. */
  statement_timeout_ms?: number
  onError?: (error: Error) => void
}

export const openDatabase = ({ url, max_connections = 10, statement_timeout_ms = 5000, onError = () => {} }: DatabaseOptions): Database => {
  const settings: pg.PoolConfig = {
    connectionString: url,
    max: max_connections,
    types,
    connectionTimeoutMillis: 2000,
    statement_timeout: statement_timeout_ms,
    // The server's own limit does not help when the line is dead.
    query_timeout: statement_timeout_ms + 1000,
    idle_in_transaction_session_timeout: 30_000,
    application_name: 'gatehouse',
    // What is asked without waiting is sent without waiting, too.
    pipeline: true,
  } as pg.PoolConfig
  const open = (): pg.Pool => {
    const opened = new pg.Pool(settings)
    // Without a listener a stopped database would end the process, and each connection needs its own from the first moment: the pool takes
    // its own away when it hands one out, and the database may say farewell in the very breath in which it says that it is ready.
    opened.on('connect', (client) => client.on('error', onError))
    opened.on('error', () => {})
    return opened
  }
  let pool = open()
  /** Where one line is dead, its neighbours are: found out one after the other, they would cost their time one after the other. */
  const leaveDeadLines = (dead: pg.Pool, error: unknown) => {
    if (dead !== pool || !(error instanceof Error) || error.message !== 'Query read timeout') return
    pool = open()
    // Whoever still works there finishes; nobody waits for it.
    dead.end().catch(() => {})
  }

  // Only what the database said is read as the database's: an error of a verb keeps its own meaning.
  const said = new WeakSet<object>()
  const heard = async <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      if (typeof error === 'object' && error !== null) said.add(error)
      throw error
    })
  const isSaid = (error: unknown) => typeof error === 'object' && error !== null && said.has(error)

  const causeOf = (error: unknown) => (error instanceof Problem ? error.cause : error)
  // Not the database's own words: the line itself is silent or broken, and what stands in it is anybody's guess.
  const isLost = (error: unknown) => isSaid(error) && !(error instanceof pg.DatabaseError)
  // What waits for no lock either answers quickly or not at all; on a dead line this is how soon one knows.
  const quick = (query: pg.QueryConfig): pg.QueryConfig => ({ ...query, query_timeout: 2000 }) as pg.QueryConfig

  const once = async <T>(mode: 'read' | 'write', within: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> => {
    const used = pool
    const client = await heard(used.connect())
    let broken: Error | undefined
    const send = async <Row>(statement: Statement<Row>): Promise<Row[]> =>
      (await heard(client.query(queryOf(statement)))).rows.map(statement.parse)
    /** What is sent within it leaves in one piece: a piece each would wake the database for each. */
    const inOnePiece = <T>(sendAll: () => T): T => {
      const { stream } = (client as unknown as { connection: { stream: Writable } }).connection
      stream.cork()
      try {
        return sendAll()
      } finally {
        stream.uncork()
      }
    }
    try {
      // Several statements in one round trip: the driver answers with one result each, which its types do not know.
      const [opened, early] = inOnePiece(() => [
        heard(client.query(quick({ text: opening(mode, options) }))) as unknown as Promise<pg.QueryResult[]>,
        new Map<unknown, Promise<unknown[]>>(options.ahead?.map((statement) => [statement, send(statement)])),
      ])
      for (const answer of early.values()) answer.catch(() => {})
      const lasts: (() => Promise<unknown>)[] = []
      const many = async <Row>(statement: Statement<Row>): Promise<Row[]> => {
        const under_way = early.get(statement) as Promise<Row[]> | undefined
        early.delete(statement)
        if (under_way) return under_way
        for (const sendLast of lasts.splice(0)) await sendLast()
        return send(statement)
      }
      const result = await within({
        now: (await opened).at(-1)!.rows[0].now,
        ...readerOf(many),
        last: async (statement, meaning = (error) => error) => {
          lasts.push(() =>
            send(statement).catch((error: unknown) => {
              throw meaning(error)
            }),
          )
        },
      })
      // The database does one after the other, and where one fails the commit that follows it is none.
      const closing = inOnePiece(() => [...lasts.map((sendLast) => sendLast()), heard(client.query('commit'))])
      const { command } = (await Promise.all(closing)).at(-1) as pg.QueryResult
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
      return result
    } catch (error) {
      leaveDeadLines(used, causeOf(error))
      // On a lost line there is nobody to roll back for us, and waiting for it would double the time.
      if (isLost(causeOf(error))) broken = error as Error
      else
        await client.query('rollback').catch((failed: Error) => {
          broken = failed
        })
      throw error
    } finally {
      client.release(broken)
    }
  }

  return {
    reader: readerOf(async (statement) => {
      const used = pool
      const { rows } = await used.query(quick(queryOf(statement))).catch((error: unknown) => {
        leaveDeadLines(used, error)
        throw problemOf(error)
      })
      return rows.map(statement.parse)
    }),
    transaction: async (mode, within, options = {}) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(mode, within, options)
        } catch (error) {
          const cause = causeOf(error)
          // A verb reaches nothing but the transaction, so what lost a race can simply be done again.
          if (attempt < attempts && isSaid(cause) && worthRetrying(cause)) {
            // Not at once and not in step: whoever won needs a moment, or both lose again to each other.
            await pause(attempt * 10 * (0.5 + Math.random()))
            continue
          }
          throw isSaid(error) ? problemOf(error) : error
        }
      }
    },
    ping: async () => {
      try {
        await pool.query(quick({ text: 'select 1' }))
        return true
      } catch {
        return false
      }
    },
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}
