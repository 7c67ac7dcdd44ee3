import { Problem } from '../kernel/problem.ts'

/** The state of the server at the other end of a connection, as it reports it itself. */
export interface ServerState {
  readonly is_in_recovery: boolean
  /** The timeline it writes to; 0 in recovery. Each promotion of a standby begins a higher one. */
  readonly timeline: number
}

/**
 * The select list that reads it. The name of the current WAL file holds the timeline from the moment of a promotion; the control file would
 * name the former one until the next checkpoint. A standby refuses these functions, so it is asked for its recovery state first.
 */
export const serverStateColumns = `pg_is_in_recovery() as is_in_recovery,
  case when pg_is_in_recovery() then 0 else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`

/** Said to an operator whose command would write there. */
export const standbyNamed =
  'The server in DATABASE_OWNER_URL is a hot standby: it may lag behind, and nothing can be written there. Name the primary in its place.'

/** A server whose word proves nothing: it may lag behind the primary, or have been replaced as the primary. */
export class StaleServer extends Error {}

/** Shared by all pools of a process, so that what one of them has seen binds the others. */
export interface PrimaryGuard {
  /** Refuses a standby, and a primary whose timeline is below the highest that any pool of this process has seen. */
  require(state: ServerState): void
}

const refuse = (why: string): never => {
  throw new Problem(
    'dependency_unavailable',
    undefined,
    new StaleServer(`refused a database server: ${why}; opening a new connection pool`),
  )
}

export const guardPrimary = (): PrimaryGuard => {
  let highest = 0
  return {
    require: ({ is_in_recovery, timeline }) => {
      if (is_in_recovery) refuse('it is a hot standby')
      if (timeline < highest) refuse(`it writes timeline ${timeline} and timeline ${highest} exists, so it is no longer the primary`)
      highest = timeline
    },
  }
}
