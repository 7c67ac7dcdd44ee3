import { Counter, collectDefaultMetrics, Gauge, type LabelValues, Registry } from '@prometheus-io/client'
import { bucketed } from './bucketed.ts'

export interface EndedRequest {
  /** The operation's id, or the pattern of a route that is none. */
  readonly operation: string
  readonly method: string
  readonly status: number
  readonly seconds: number
}

export interface PoolStats {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

/** What there is to count. Every label's values come from a closed list: no id, and nothing a caller wrote. */
export interface Metrics {
  requestBegan(): void
  requestEnded(request: EndedRequest): void
  tokenRejected(code: string): void
  rateLimited(caller: string): void
  decided(outcome: 'allow' | 'deny', reason: string): void
  auditAppended(rows: number): void
  /** That a token was refused could not be recorded in time, or not at all. */
  refusalUnrecorded(what: 'late' | 'lost'): void
  /** Everything up to now is under signed checkpoints, of which there are so many. */
  checkpointed(number: number): void
  /** Whether this process can sign tokens, as it found when it last looked after the keys. */
  signingKeyTended(can_sign: boolean): void
  /** How many tasks of nodes are open, and how many of these for too long. */
  nodeTasksTended(counted: { readonly open: number; readonly overdue: number }): void
  /** One run of background work is over. */
  jobEnded(job: string, outcome: 'done' | 'failed'): void
  watchPool(stats: () => PoolStats): void
  /** Whether this process hears at once that a node has something to do. */
  watchWakes(isListening: () => boolean): void
  readonly contentType: string
  text(): Promise<string>
}

let ofNode: Registry | undefined
/** What Node tells of the process: kept once, however many servers it has, because what collects it runs until the process ends. */
const countsOfNode = (): Registry => {
  if (!ofNode) {
    ofNode = new Registry()
    collectDefaultMetrics({ register: ofNode })
  }
  return ofNode
}

/** Counts of one server, in a registry of their own. */
export const createMetrics = (): Metrics => {
  const node = countsOfNode()
  const register = new Registry()
  const registers = [register]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name, help, labelNames, registers })

  /** Counted in a plain table and handed over when somebody looks: the library would look for the place of each count anew. */
  const tally = <L extends string>(name: string, help: string, labelNames: readonly L[]) => {
    const counts = new Map<string, { readonly labels: LabelValues<L>; pending: number }>()
    new Counter<L>({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const each of counts.values()) {
          this.inc(each.labels, each.pending)
          each.pending = 0
        }
      },
    })
    // No label's value has a space in it.
    return (key: string, labels: () => LabelValues<L>): void => {
      const known = counts.get(key)
      if (known) known.pending += 1
      else counts.set(key, { labels: labels(), pending: 1 })
    }
  }

  const requests = tally('gatehouse_http_requests_total', 'Requests answered, by operation, method and status.', [
    'operation',
    'method',
    'status',
  ])
  const took = bucketed(register, {
    name: 'gatehouse_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer.',
    label: 'operation',
    bounds: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  let under_way = 0
  new Gauge({
    name: 'gatehouse_http_requests_in_flight',
    help: 'Requests under way.',
    registers,
    collect() {
      this.set(under_way)
    },
  })
  const rejected = counter('gatehouse_auth_rejected_total', 'Requests answered 401, by problem code.', ['code'])
  const limited = counter('gatehouse_rate_limited_total', 'Requests answered 429, by kind of caller.', ['caller'])
  const decisions = tally('gatehouse_decisions_total', 'Answers of the decision engine, by outcome and reason.', ['outcome', 'reason'])
  const unrecorded = counter('gatehouse_refusals_unrecorded_total', 'Refused tokens whose record was late, or was lost.', ['what'])
  const rows = counter('gatehouse_audit_rows_total', 'Rows handed to the audit chains; those of a rolled back transaction included.')

  const jobs = counter('gatehouse_job_runs_total', 'Runs of background work, by job and outcome.', ['job', 'outcome'])

  let lastCheckpoint: { number: number; at: number } | undefined
  new Gauge({
    name: 'gatehouse_audit_checkpoint_number',
    help: 'How many signed checkpoints there are; absent until this process has written or confirmed one.',
    registers,
    collect() {
      if (lastCheckpoint) this.set(lastCheckpoint.number)
      else this.remove()
    },
  })
  new Gauge({
    name: 'gatehouse_audit_checkpoint_age_seconds',
    help: 'How long ago this process last saw the whole record under signed checkpoints.',
    registers,
    collect() {
      if (lastCheckpoint) this.set((performance.now() - lastCheckpoint.at) / 1000)
      else this.remove()
    },
  })
  let canSign: boolean | undefined
  new Gauge({
    name: 'gatehouse_signing_key_usable',
    help: 'Whether this process has a key that it can sign tokens with (1) or issues nothing (0); absent until it has looked.',
    registers,
    collect() {
      if (canSign === undefined) this.remove()
      else this.set(canSign ? 1 : 0)
    },
  })
  let tasks: { readonly open: number; readonly overdue: number } | undefined
  new Gauge({
    name: 'gatehouse_node_tasks',
    help: 'Tasks that nodes have not reported on: all of them, and those that take too long; absent until this process has looked.',
    labelNames: ['what'],
    registers,
    collect() {
      if (!tasks) return
      this.set({ what: 'open' }, tasks.open)
      this.set({ what: 'overdue' }, tasks.overdue)
    },
  })

  return {
    requestBegan: () => {
      under_way += 1
    },
    requestEnded: ({ operation, method, status, seconds }) => {
      under_way -= 1
      requests(`${operation} ${method} ${status}`, () => ({ operation, method, status }))
      took(operation, seconds)
    },
    tokenRejected: (code) => rejected.inc({ code }),
    rateLimited: (caller) => limited.inc({ caller }),
    decided: (outcome, reason) => decisions(`${outcome} ${reason}`, () => ({ outcome, reason })),
    auditAppended: (count) => rows.inc(count),
    refusalUnrecorded: (what) => unrecorded.inc({ what }),
    jobEnded: (job, outcome) => jobs.inc({ job, outcome }),
    checkpointed: (number) => {
      lastCheckpoint = { number, at: performance.now() }
    },
    signingKeyTended: (can_sign) => {
      canSign = can_sign
    },
    nodeTasksTended: (counted) => {
      tasks = counted
    },
    watchWakes: (isListening) => {
      new Gauge({
        name: 'gatehouse_node_wakes_heard',
        help: 'Whether this process hears at once that a node has something to do (1), or looks every second (0).',
        registers,
        collect() {
          this.set(isListening() ? 1 : 0)
        },
      })
    },
    watchPool: (stats) => {
      new Gauge({
        name: 'gatehouse_database_connections',
        help: 'Connections of the pool: in use, idle, and requests waiting for one.',
        labelNames: ['state'],
        registers,
        collect() {
          const { total, idle, waiting } = stats()
          this.set({ state: 'used' }, total - idle)
          this.set({ state: 'idle' }, idle)
          this.set({ state: 'waiting' }, waiting)
        },
      })
    },
    contentType: register.contentType,
    text: async () => (await Promise.all([register.metrics(), node.metrics()])).join(''),
  }
}
