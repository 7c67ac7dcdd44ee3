import { unavailable } from '#ground/kernel/problem.ts'

/** The longest queue of a tenant: one more request is refused at once. */
const most_waiting = 500
/** As long as a statement may take. */
export const usual_queue_wait_ms = 5000

interface Queue {
  under_way: number
  readonly waiting: Set<() => void>
}

const late = () => unavailable('too many requests of this tenant are under way')

interface QueueOptions {
  /** Each tenant has one connection; so many more are lent, to all tenants together. What changes in a tenant waits for the end of its audit chain anyway. */
  readonly lent: number
  readonly wait_ms?: number
  readonly mayBorrow?: (tenant: string) => boolean
}

/**
 * Bulkheads: transactions of one tenant share a few connections of the pool. Where somebody holds a lock of that tenant, its requests wait
 * here, without a connection, and everybody else's go on.
 */
export const tenantQueues = ({ lent: most_lent, wait_ms = usual_queue_wait_ms, mayBorrow = () => true }: QueueOptions) => {
  const queues = new Map<string, Queue>()
  let lent = 0

  const turnIn = async (tenant: string, queue: Queue): Promise<void> => {
    if (queue.under_way === 0 || (lent < most_lent && mayBorrow(tenant))) {
      if (queue.under_way > 0) lent += 1
      queue.under_way += 1
      return
    }
    if (queue.waiting.size >= most_waiting) throw late()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      queue.waiting.delete(resolve)
      reject(late())
    }, wait_ms)
    queue.waiting.add(resolve)
    // A request that leaves hands its place on: the count stays.
    await promise.finally(() => clearTimeout(timer))
  }

  /** Of those that have waited: what is lent goes from tenant to tenant. */
  const wakeOne = (queue: Queue): boolean => {
    const [next] = queue.waiting
    if (!next) return false
    queue.waiting.delete(next)
    next()
    return true
  }

  const leave = (tenant: string, queue: Queue): void => {
    // The one that each tenant has is handed on within it: the count stays.
    if (queue.under_way === 1) {
      if (wakeOne(queue)) return
      queue.under_way = 0
      queues.delete(tenant)
      return
    }
    queue.under_way -= 1
    lent -= 1
    for (const [other, each] of queues) {
      if (each.under_way === 0 || !mayBorrow(other) || !wakeOne(each)) continue
      each.under_way += 1
      lent += 1
      // To the end, so that the next one is another's.
      queues.delete(other)
      queues.set(other, each)
      return
    }
  }

  return async <T>(tenant: string, act: () => Promise<T>): Promise<T> => {
    const queue: Queue = queues.get(tenant) ?? { under_way: 0, waiting: new Set() }
    if (!queues.has(tenant)) queues.set(tenant, queue)
    await turnIn(tenant, queue)
    try {
      return await act()
    } finally {
      leave(tenant, queue)
    }
  }
}
export type TenantQueues = ReturnType<typeof tenantQueues>
