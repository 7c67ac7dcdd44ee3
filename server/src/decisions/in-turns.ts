import { Problem } from '../kernel/problem.ts'
import { recentlyUsed } from '../kernel/recently-used.ts'

/** A turn: so long a tenant is judged for in one go, but for the one item that it is at. */
const turn_ms = 0.25
/** Between two turns everybody else is heard, whatever they ask: at least so long, which is as short as a timer can be. */
const rest_ms = 1
/** While other tenants are judged, too, two thirds of the processor are theirs. */
const rests_per_turn = 2
/** So long after its last question a tenant still counts as one that asks. */
const lately_ms = 250
/** So much of its time a tenant may use at once without waiting for a turn, and so much of each millisecond comes back. */
const burst_ms = 1
const refill = 0.05
/** Tenants beyond this are forgotten, which gives them their burst again. */
const most_tenants = 10_000

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

interface Allowance {
  left_ms: number
  at: number
}

/**
 * Fair queueing of judging time, by tenant (round robin). A tenant with many rules makes its own questions dear. However many requests it
 * has in flight, they share the one turn of that tenant, and whoever asks little does not queue at all.
 */
export const tenantTurns = () => {
  const allowances = recentlyUsed<Allowance>(most_tenants)
  /** In the order of their next turns; of each tenant the requests that wait. */
  const waiting = new Map<string, (() => void)[]>()
  let is_running = false
  /** What the turn that was given last has taken. */
  let used_ms = 0
  /** The last two tenants that asked, and when. */
  let latest = { tenant: '', at: Number.NEGATIVE_INFINITY }
  let before = latest

  const note = (tenant: string): void => {
    const at = performance.now()
    if (tenant !== latest.tenant) before = latest
    latest = { tenant, at }
  }

  const allowanceOf = (tenant: string): Allowance => {
    const now = performance.now()
    const known = allowances.get(tenant)
    if (!known) {
      const full = { left_ms: burst_ms, at: now }
      allowances.set(tenant, full)
      return full
    }
    known.left_ms = Math.min(burst_ms, known.left_ms + (now - known.at) * refill)
    known.at = now
    return known
  }

  const run = async () => {
    is_running = true
    let next: (() => void) | undefined
    for (;;) {
      used_ms = 0
      next?.()
      // It is judged as soon as this waits, before any timer.
      await pause(rest_ms)
      const isAlone = performance.now() - before.at > lately_ms
      if (!isAlone && used_ms * rests_per_turn > rest_ms) await pause(used_ms * rests_per_turn - rest_ms)
      const first = waiting.entries().next().value
      if (!first) break
      const [tenant, requests] = first
      waiting.delete(tenant)
      next = requests.shift()!
      // To the end of the ring.
      if (requests.length > 0) waiting.set(tenant, requests)
      allowanceOf(tenant).left_ms = turn_ms
    }
    is_running = false
  }

  /** Whoever has begun goes on first: all requests of a tenant side by side would all be late, one after the other only the last are. */
  const turnOf = (tenant: string, hasBegun: boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const requests = waiting.get(tenant) ?? []
    if (hasBegun) requests.unshift(resolve)
    else requests.push(resolve)
    if (requests.length === 1) waiting.set(tenant, requests)
    if (!is_running) void run()
    return promise
  }

  /**
   * Makes something of each, one after the other. Past the limit what was read for it is too old to be told as what is so now, and the request
   * is refused.
   */
  return async <Item, Made>(
    items: readonly Item[],
    limit_ms: number,
    tenantOf: (item: Item) => string,
    make: (item: Item) => Made,
  ): Promise<Made[]> => {
    const began = performance.now()
    const made: Made[] = []
    let hasTurn = false
    for (const item of items) {
      const tenant = tenantOf(item)
      note(tenant)
      // Whoever has a turn goes on with it; whoever comes does not overtake those who wait.
      if (allowanceOf(tenant).left_ms <= 0 || (!hasTurn && waiting.has(tenant))) {
        await turnOf(tenant, made.length > 0)
        hasTurn = true
        if (performance.now() - began > limit_ms)
          throw new Problem('dependency_unavailable', undefined, new Error(`not judged within ${limit_ms} ms`))
      }
      const from = performance.now()
      made.push(make(item))
      const took_ms = performance.now() - from
      used_ms += took_ms
      allowanceOf(tenant).left_ms -= took_ms
    }
    return made
  }
}
