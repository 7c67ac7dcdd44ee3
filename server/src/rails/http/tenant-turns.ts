import type { Payer } from '#ground/db/database.ts'
import { unavailable } from '#ground/kernel/problem.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'

/** A turn while others ask: so long a tenant works in one go, but for the one item that it is at. */
const turn_ms = 0.25
/** A turn while no other tenant asks. */
const turn_alone_ms = 5
/** Between two turns everybody else is heard, whatever they ask: at least so long, which is as short as a timer can be. */
const rest_ms = 1
/** While tenants ask that stay within their share, two thirds of the event loop are theirs. */
const rests_per_turn = 2
/** Also within its share a tenant works no longer than this before others are heard. */
const slice_ms = 0.5
/** So long after its last request a tenant still counts as one that asks, and after its last wait as one that queues. */
const lately_ms = 250
/** The tenants that ask share so much of each millisecond evenly, and each may save up so much. A tenant that keeps to it never queues. */
const shared_part = 0.6
const least_part = 0.05
const burst_ms = 10
/** What a request takes besides what is measured: finding its caller, reading and writing it. */
const request_ms = 0.3
/** So much of a millisecond that the database works for a tenant is charged, and so long at most of one statement: others have its other connections. */
const database_share = 0.25
const most_statement_ms = 20
/** Tenants beyond this are forgotten, which gives them their burst again. */
const most_tenants = 10_000
/** Rows of an answer are made into values so many at a time. */
const rows_at_once = 16

const pauseFor = (ms: number) => new Promise<unknown>((resolve) => setTimeout(resolve, ms))

/** Whatever has come meanwhile is heard first. */
const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))

interface Allowance {
  left_ms: number
  at: number
  /** Until when it counts as one that queues. */
  queues_until: number
}

/** One that waits for a turn. What it will take is known of a request that begins; of anything else it shows afterwards. */
interface Waiting {
  readonly begin: () => void
  readonly cost_ms: number | undefined
}
interface Waits {
  readonly limit_ms: number
  /** A request that has begun goes on first. Side by side all requests of a tenant would be late; one after the other only the last are. */
  readonly hasBegun: boolean
  readonly cost_ms?: number
}

const late = (limit_ms: number) => unavailable(`no turn for this tenant within ${limit_ms} ms`)

/**
 * Fair queueing of the event loop, by tenant (round robin). A tenant pays for what its requests take: judging, reading rows, writing answers, and a
 * share of the time that the database works for it. However many requests it has in flight, they share the one turn of that tenant. A
 * tenant that takes little does not queue at all.
 */
export const tenantTurns = (pause: (ms: number) => Promise<unknown> = pauseFor) => {
  const allowances = recentlyUsed<Allowance>(most_tenants)
  /** In the order of their next turns; of each tenant the requests that wait. */
  const waiting = new Map<string, Waiting[]>()
  let is_running = false
  /** What those that queue have taken since the last turn began. */
  let taken_ms = 0
  /** When a tenant asked that stays within its share. */
  let light_at = Number.NEGATIVE_INFINITY
  /** Who asks, in periods: the one before counts as long as the present one has not more. */
  let asking = new Set<string>()
  let asked_before = 1
  let period_until = Number.NEGATIVE_INFINITY
  const noteAsking = (tenant: string, now: number): void => {
    if (now >= period_until) {
      asked_before = now >= period_until + lately_ms ? 1 : Math.max(1, asking.size)
      asking = new Set()
      period_until = now + lately_ms
    }
    asking.add(tenant)
  }
  const refill = (): number => Math.max(least_part, shared_part / Math.max(asked_before, asking.size))

  const allowanceOf = (tenant: string): Allowance => {
    const now = performance.now()
    const known = allowances.get(tenant)
    if (!known) {
      const full = { left_ms: burst_ms, at: now, queues_until: 0 }
      allowances.set(tenant, full)
      return full
    }
    known.left_ms = Math.min(burst_ms, known.left_ms + (now - known.at) * refill())
    known.at = now
    return known
  }

  const charge = (tenant: string, ms: number): void => {
    const allowance = allowanceOf(tenant)
    allowance.left_ms -= ms
    if (allowance.left_ms < 0) taken_ms += ms
  }

  const isAlone = (): boolean => performance.now() - light_at > lately_ms

  /** One that is under way goes on, or as many begin as fit into the turn. */
  const giveTurn = (tenant: string, requests: Waiting[]): void => {
    waiting.delete(tenant)
    const allowance = allowanceOf(tenant)
    allowance.left_ms = isAlone() && waiting.size === 0 ? turn_alone_ms : turn_ms
    let left_ms = allowance.left_ms
    while (requests.length > 0 && left_ms > 0) {
      const { begin, cost_ms } = requests.shift()!
      begin()
      if (cost_ms === undefined) break
      left_ms -= cost_ms
    }
    // To the end of the ring.
    if (requests.length > 0) waiting.set(tenant, requests)
  }

  const run = async () => {
    is_running = true
    while (waiting.size > 0) {
      // What was given last is worked off as soon as this waits, before any timer.
      await pause(rest_ms)
      const owed_ms = taken_ms * rests_per_turn - rest_ms
      taken_ms = 0
      if (owed_ms > 0 && !isAlone()) await pause(owed_ms)
      const first = waiting.entries().next().value
      if (first) giveTurn(...first)
    }
    is_running = false
  }

  const turnOf = async (tenant: string, { limit_ms, hasBegun, cost_ms }: Waits): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const requests = waiting.get(tenant) ?? []
    const waits: Waiting = { begin: resolve, cost_ms }
    if (hasBegun) requests.unshift(waits)
    else requests.push(waits)
    if (requests.length === 1) waiting.set(tenant, requests)
    allowanceOf(tenant).queues_until = performance.now() + lately_ms
    if (!is_running) void run()
    const timer = setTimeout(() => {
      const place = requests.indexOf(waits)
      if (place >= 0) requests.splice(place, 1)
      if (requests.length === 0 && waiting.get(tenant) === requests) waiting.delete(tenant)
      reject(late(limit_ms))
    }, limit_ms)
    return promise.finally(() => clearTimeout(timer))
  }

  /** Whether it has to wait: it has used up its allowance, or others of it wait already. */
  const mustWait = (tenant: string, hasTurn: boolean): boolean => {
    const now = performance.now()
    noteAsking(tenant, now)
    const { left_ms, queues_until } = allowanceOf(tenant)
    if (queues_until <= now) light_at = now
    return left_ms <= 0 || (!hasTurn && waiting.has(tenant))
  }

  /**
   * Makes something of each, one after the other. Past the limit what was read for it is too old to be told as what is so now, and the request
   * is refused.
   */
  const each = async <Item, Made>(
    items: readonly Item[],
    limit_ms: number,
    tenantOf: (item: Item) => string,
    make: (item: Item) => Made,
  ): Promise<Made[]> => {
    const began = performance.now()
    const made: Made[] = []
    let hasTurn = false
    let slice = 0
    for (const item of items) {
      const tenant = tenantOf(item)
      const mustQueue = mustWait(tenant, hasTurn)
      if (mustQueue || slice > slice_ms) {
        slice = 0
        if (mustQueue) await turnOf(tenant, { limit_ms, hasBegun: made.length > 0 })
        else await breathe()
        hasTurn = true
        if (performance.now() - began > limit_ms) throw late(limit_ms)
      }
      const from = performance.now()
      made.push(make(item))
      const took_ms = performance.now() - from
      slice += took_ms
      charge(tenant, took_ms)
    }
    return made
  }

  const eachRow = async <Item, Made>(
    tenant: string,
    limit_ms: number,
    items: readonly Item[],
    make: (item: Item) => Made,
  ): Promise<Made[]> => {
    if (items.length === 0) return []
    const slices = Array.from({ length: Math.ceil(items.length / rows_at_once) }, (_, n) => n * rows_at_once)
    const made: Made[] = []
    const began = performance.now()
    let slice_from = began
    for (const slice of slices) {
      const from = performance.now()
      // One that has begun holds a connection, so it goes on before others of its tenant begin.
      const mustQueue = slice > 0 && allowanceOf(tenant).left_ms <= 0
      if (mustQueue || from - slice_from > slice_ms) {
        if (mustQueue) await turnOf(tenant, { limit_ms, hasBegun: true })
        else await breathe()
        slice_from = performance.now()
        if (slice_from - began > limit_ms) throw late(limit_ms)
      }
      const begun = performance.now()
      for (const item of items.slice(slice, slice + rows_at_once)) made.push(make(item))
      charge(tenant, performance.now() - begun)
    }
    return made
  }

  return {
    each,
    /** Before a request begins: at once, or when its tenant has a turn. */
    enter: async (tenant: string, limit_ms: number, cost_ms: number = request_ms): Promise<void> => {
      if (mustWait(tenant, false)) await turnOf(tenant, { limit_ms, hasBegun: false, cost_ms })
      charge(tenant, cost_ms)
    },
    charge,
    /** Whether it may have more than one connection: not while it is past its share and others ask. */
    mayBorrow: (tenant: string): boolean => isAlone() || allowanceOf(tenant).queues_until <= performance.now(),
    payer: (tenant: string, limit_ms: number): Payer => ({
      charge: (ms) => charge(tenant, ms),
      chargeStatement: (ms) => charge(tenant, Math.min(ms, most_statement_ms) * database_share),
      each: (items, make) => eachRow(tenant, limit_ms, items, make),
    }),
  }
}
export type TenantTurns = ReturnType<typeof tenantTurns>
