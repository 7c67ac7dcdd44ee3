import pg from 'pg'
import { standbyNamed } from '../primary-guard.ts'
import type { Statement } from '../statement.ts'
import { CopyRefused } from './copy-refused.ts'

/** One connection of the role that owns the tables. */
export interface OwnerSession {
  run(text: string): Promise<void>
  many<Row>(statement: Statement<Row>): Promise<Row[]>
  /** Hands a copy to the connection and gives it back as the stream that it is. */
  stream<S extends pg.Submittable>(copy: S): S
}

// The text of a value must be the same whoever reads it, and a long copy is not a hung one. Rows that a policy would hide are an error.
const settings = `
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = '5s'; set row_security = off;
  set search_path = public; set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set bytea_output = 'hex';
  set extra_float_digits = 1`

const text = (error: unknown, member: 'code' | 'constraint' | 'message'): string => {
  const value = (error as Record<string, unknown> | null)?.[member]
  return typeof value === 'string' ? value : ''
}

const broke = 'The connection to the database broke; try again.'

/** What the database's refusal means to the operator. */
const sentenceOf = (error: unknown): string => {
  const code = text(error, 'code')
  if (code === '55P03') return 'Another process holds the tables of the database; stop it, then try again.'
  if (code === '42501') return 'The role in the given URL does not own the tables of the database.'
  if (code === '42P01' || code === '3F000') return 'The database is not prepared: it lacks tables of this version.'
  if (code.startsWith('23')) return `The rows do not fit the tables of the database: ${text(error, 'constraint')} is violated.`
  if (/^(?:08|57)/.test(code)) return broke
  return `The database refuses: ${text(error, 'message')}.`
}

const unreachable = (error: unknown): CopyRefused =>
  new CopyRefused(
    /^(?:28|3D)/.test(text(error, 'code'))
      ? `The database refuses the connection: ${text(error, 'message')}.`
      : 'The database of the given URL does not answer.',
    { cause: error },
  )

/** A hot standby takes no rows, not even for the proof of a backup, and what it holds may lag behind the primary. */
const requirePrimary = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query<{ is_in_recovery: boolean }>('select pg_is_in_recovery() as is_in_recovery')
  if (rows[0]!.is_in_recovery) throw new CopyRefused(standbyNamed)
}

export const asOwner = async <T>(url: string, application_name: string, act: (session: OwnerSession) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, application_name, connectionTimeoutMillis: 5000, keepAlive: true })
  let isBroken = false
  // A line that breaks is told by the statement under way; without a listener it would end the process as well.
  client.on('error', () => {
    isBroken = true
  })
  await client.connect().catch((error: unknown) => {
    throw unreachable(error)
  })
  try {
    await client.query(settings)
    await requirePrimary(client)
    return await act({
      run: async (statement) => void (await client.query(statement)),
      many: async ({ text: statement, values, parse }) => (await client.query(statement, values as unknown[])).rows.map(parse),
      stream: (copy) => client.query(copy),
    })
  } catch (error) {
    if (error instanceof CopyRefused) throw error
    const isPostgres = error instanceof pg.DatabaseError
    if (isPostgres || isBroken) throw new CopyRefused(isPostgres ? sentenceOf(error) : broke, { cause: error })
    throw error
  } finally {
    // In the middle of a copy this cuts the line, which is what ends the copy and the transaction with it.
    await client.end()
  }
}
