/**
 * Deadlines for a server under test that is not tried for its deadlines: far beyond what anything takes on a busy machine, so that load changes no
 * verdict. A test of waiting itself composes the server with the deadlines that it tries.
 */
const unhurried_ms = 60_000

export const unhurried = {
  database: { statement_timeout_ms: unhurried_ms, round_trip_ms: unhurried_ms },
  tokens: { timeout_ms: unhurried_ms },
  fresh: { limit_ms: unhurried_ms },
  patience_ms: unhurried_ms,
  /** Who waits for a word hears it, or waits too long: nobody finds by looking what was not said. */
  look_ms: { listening: 10 * unhurried_ms, deaf: 1000 },
  duplicate_wait_ms: unhurried_ms / 2,
  queue_wait_ms: unhurried_ms,
  /** Server and client share a process in many tests: while the test computes, a request in the socket is not read, and nobody is slow. */
  slowness: { headers_ms: 4 * unhurried_ms, request_ms: 4 * unhurried_ms, checked_every_ms: 1000, idle_ms: 10 * unhurried_ms },
}
