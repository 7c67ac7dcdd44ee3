import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { Problem } from '../kernel/problem.ts'
import { arrayText } from './array-text.ts'
import { type Connections, type DatabaseOptions, heard, inOnePiece, isLost, isSaid, openConnections } from './connections.ts'
import { problemOf, worthRetrying } from './database-errors.ts'
import { type ServerState, StaleServer, serverStateColumns } from './primary-guard.ts'
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
  last(statement: Statement<unknown>, meaning?: (error: unknown) => unknown): void
}

/** The account that some work is charged to, and how that work is divided into slices. */
export interface Payer {
  /** Time that it has held the event loop. */
  readonly charge: (ms: number) => void
  /** Time that the database has worked for it, on a connection of the pool. */
  readonly chargeStatement: (ms: number) => void
  /** Makes something of each, in slices: between two of them others are heard. */
  readonly each: <Item, Made>(items: readonly Item[], make: (item: Item) => Made) => Promise<Made[]>
}

export interface TransactionOptions {
  /** Who pays for what it takes of the event loop and of the database; nobody where it is left out. */
  readonly payer?: Payer
  /** How long it waits for each lock that somebody else has; as long as for anything if not said. */
  readonly lock_wait_ms?: number
  /** What is asked first, in this order: sent along with the beginning, so that its answers are there or under way when it is asked for. */
  readonly ahead?: readonly Statement<unknown>[]
}

export interface Database {
  /** Single reads, each a snapshot of its own: for what precedes the work (who is this, how often may they ask). */
  readonly reader: Reader
  /** How many the pool has at most. */
  readonly connections: number
  transaction<T>(mode: 'read' | 'write', within: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Whether the database answers now, and is the primary. */
  ping(): Promise<boolean>
  /** Leaves the servers that its connections reach, because of what one of them said. */
  distrust(why: string): void
  /** Connections of the pool, and how many wait for one. */
  stats(): { readonly total: number; readonly idle: number; readonly waiting: number }
  close(): Promise<void>
}

const begin = {
  read: 'begin isolation level repeatable read read only',
  write: 'begin isolation level read committed',
}

/** What a transaction begins with, in one round trip. */
const opening = (mode: keyof typeof begin, { lock_wait_ms }: TransactionOptions): string =>
  `${begin[mode]}; ${lock_wait_ms === undefined ? '' : `set local lock_timeout = ${Math.ceil(lock_wait_ms)}; `}select transaction_timestamp() as now, ${serverStateColumns}`

/** Goes ahead of each single read, in the same packet. */
const serverState: pg.QueryConfig = { name: 'server_state', text: `select ${serverStateColumns}` }

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

/** What the database said, where somebody has made a problem of it. */
const causeOf = (error: unknown) => (error instanceof Problem ? error.cause : error)

/** Begins a transaction, lets it be worked in, and commits it. Whatever goes wrong is thrown, and the transaction is still open then. */
const workOn = async <T>(
  client: pg.ClientBase,
  { quick, primary }: Pick<Connections, 'quick' | 'primary'>,
  mode: keyof typeof begin,
  within: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> => {
  const { payer } = options
  const send = async <Row>(statement: Statement<Row>): Promise<Row[]> => {
    const from = performance.now()
    const { rows } = await heard(client.query(queryOf(statement)))
    if (!payer) return rows.map(statement.parse)
    payer.chargeStatement(performance.now() - from)
    return payer.each(rows, statement.parse)
  }
  // Several statements in one round trip: the driver answers with one result each, which its types do not know.
  const [opened, early] = inOnePiece(client, () => [
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
  const { now, ...server } = (await opened).at(-1)!.rows[0] as ServerState & { now: string }
  primary.require(server)
  const result = await within({
    now,
    ...readerOf(many),
    last: (statement, meaning = (error) => error) => {
      lasts.push(() =>
        send(statement).catch((error: unknown) => {
          throw meaning(error)
        }),
      )
    },
  })
  // Another pool may have seen a later timeline meanwhile.
  primary.require(server)
  // The database does one after the other, and where one fails the commit that follows it is none.
  const closing = inOnePiece(client, () => [...lasts.map((sendLast) => sendLast()), heard(client.query('commit'))])
  const { command } = (await Promise.all(closing)).at(-1) as pg.QueryResult
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
  return result
}

export const openDatabase = (settings: DatabaseOptions): Database => {
  const { pool, leaveUnfitPool, quick, primary, payers } = openConnections(settings)

  const once = async <T>(mode: 'read' | 'write', within: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> => {
    const used = pool()
    const client = await heard(used.connect())
    let broken: Error | undefined
    if (options.payer) payers.set(client, options.payer)
    try {
      return await workOn(client, { quick, primary }, mode, within, options)
    } catch (error) {
      leaveUnfitPool(used, causeOf(error))
      // On a lost line there is nobody to roll back for us, and waiting for it would double the time.
      if (isLost(causeOf(error))) broken = error as Error
      else
        await client.query('rollback').catch((failed: Error) => {
          broken = failed
        })
      throw error
    } finally {
      payers.delete(client)
      client.release(broken)
    }
  }

  /** One read, on a connection whose server says with it what it is. */
  const readOn = async (client: pg.ClientBase, query: pg.QueryConfig): Promise<unknown[]> => {
    const [state, answer] = await Promise.all(
      inOnePiece(client, () => [client.query<ServerState>(quick(serverState)), client.query(quick(query))] as const),
    )
    primary.require(state.rows[0]!)
    return answer.rows
  }
  const read = async (query: pg.QueryConfig): Promise<unknown[]> => {
    const used = pool()
    let broken: Error | undefined
    let client: pg.PoolClient | undefined
    try {
      client = await used.connect()
      return await readOn(client, query)
    } catch (error) {
      broken = error as Error
      leaveUnfitPool(used, causeOf(error))
      throw problemOf(error)
    } finally {
      client?.release(broken)
    }
  }

  return {
    connections: pool().options.max,
    reader: readerOf(async (statement) => (await read(queryOf(statement))).map(statement.parse)),
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
        await read({ text: 'select 1' })
        return true
      } catch {
        return false
      }
    },
    distrust: (why) => leaveUnfitPool(pool(), new StaleServer(why)),
    stats: () => {
      const { totalCount, idleCount, waitingCount } = pool()
      return { total: totalCount, idle: idleCount, waiting: waitingCount }
    },
    close: () => pool().end(),
  }
}
