import type { Duplex } from 'node:stream'
import pg from 'pg'
import { guardPrimary, type PrimaryGuard, StaleServer } from './primary-guard.ts'

export interface DatabaseOptions {
  url: string
  max_connections?: number
  /** Longer than this is as good as down. */
  statement_timeout_ms?: number
  /** The same of what waits for no lock, and of connecting: on a dead line this is how soon one knows. */
  round_trip_ms?: number
  onError?: (error: Error) => void
  /** Shared by all pools of a process; a pool without one knows only what it has seen itself. */
  primary?: PrimaryGuard
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

/** What pg says of a line that stays silent; it has no code. */
const silent = 'Query read timeout'

/** The pool of a process. A new one replaces it when its connections are dead or reach a server that proves nothing. */
export interface Connections {
  pool(): pg.Pool
  /** Replaces the pool if this error condemns it: where one connection is unfit the others are too, and each would cost a timeout to find out. */
  leaveUnfitPool(used: pg.Pool, error: unknown): void
  readonly primary: PrimaryGuard
  /** Who pays for the time that the driver takes to read what comes over a connection, while somebody works on it. */
  readonly payers: WeakMap<pg.ClientBase, { readonly charge: (ms: number) => void }>
  /** For a query that waits for no lock: it is answered within a round trip or not at all. */
  quick(query: pg.QueryConfig): pg.QueryConfig
}

/** A proxy may lead back to the same stale server: replacing the pool for each request would only exhaust its connections. */
const renewal_ms = 250

/** What a server has that nobody gives other deadlines to. */
export const usualDeadlines = { statement_timeout_ms: 5000, round_trip_ms: 2000 }

export const openConnections = ({
  url,
  max_connections = 10,
  statement_timeout_ms = usualDeadlines.statement_timeout_ms,
  round_trip_ms = usualDeadlines.round_trip_ms,
  onError = () => {},
  primary = guardPrimary(),
}: DatabaseOptions): Connections => {
  const settings: pg.PoolConfig = {
    connectionString: url,
    max: max_connections,
    types,
    connectionTimeoutMillis: round_trip_ms,
    statement_timeout: statement_timeout_ms,
    // The server's own limit does not help when the line is dead.
    query_timeout: statement_timeout_ms + 1000,
    idle_in_transaction_session_timeout: 30_000,
    application_name: 'gatehouse',
    // What is asked without waiting is sent without waiting, too.
    pipeline: true,
  } as pg.PoolConfig
  const payers: Connections['payers'] = new WeakMap()
  const open = (): pg.Pool => {
    const opened = new pg.Pool(settings)
    // Without a listener a stopped database would end the process, and each connection needs its own from the first moment: the pool takes
    // its own away when it hands one out, and the database may say farewell in the very breath in which it says that it is ready.
    opened.on('connect', (client) => {
      client.on('error', onError)
      measureReading(client, (ms) => payers.get(client)?.charge(ms))
    })
    opened.on('error', () => {})
    return opened
  }
  let pool = open()
  let renewed_at = Number.NEGATIVE_INFINITY
  /** Whether the error condemns the whole pool. A stale server does so once in `renewal_ms` at most. */
  const isUnfit = (error: unknown): boolean => {
    if (!(error instanceof StaleServer)) return error instanceof Error && error.message === silent
    if (performance.now() - renewed_at < renewal_ms) return false
    renewed_at = performance.now()
    onError(error)
    return true
  }
  return {
    pool: () => pool,
    primary,
    payers,
    quick: (query) => ({ ...query, query_timeout: round_trip_ms }) as pg.QueryConfig,
    leaveUnfitPool: (used, error) => {
      if (used !== pool || !isUnfit(error)) return
      pool = open()
      // Whoever still works there finishes; nobody waits for it.
      used.end().catch(() => {})
    },
  }
}

const streamOf = (client: pg.ClientBase) => (client as unknown as { connection: { stream: Duplex } }).connection.stream

/** How long the driver takes for each piece that comes: rows are made in its listener, which stands between these two. */
const measureReading = (client: pg.ClientBase, took: (ms: number) => void): void => {
  const stream = streamOf(client)
  let from = 0
  stream.prependListener('data', () => {
    from = performance.now()
  })
  stream.on('data', () => took(performance.now() - from))
}

/** What is sent within it leaves in one piece: a piece each would wake the database for each. */
export const inOnePiece = <Sent>(client: pg.ClientBase, sendAll: () => Sent): Sent => {
  const stream = streamOf(client)
  stream.cork()
  try {
    return sendAll()
  } finally {
    stream.uncork()
  }
}

const said = new WeakSet<object>()

/** Remembers of an error that it came by the line. */
export const heard = async <Answer>(answer: Promise<Answer>): Promise<Answer> =>
  answer.catch((error: unknown) => {
    if (typeof error === 'object' && error !== null) said.add(error)
    throw error
  })

/** Only what the database said is read as the database's: an error of a verb keeps its own meaning. */
export const isSaid = (error: unknown): boolean => typeof error === 'object' && error !== null && said.has(error)

/** Not the database's own words: the line itself is silent or broken, and what stands in it is anybody's guess. */
export const isLost = (error: unknown): boolean => isSaid(error) && !(error instanceof pg.DatabaseError)
