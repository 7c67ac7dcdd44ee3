import { Problem } from '../kernel/problem.ts'

/** Of the ten connections of a pool one tenant has at most so many. What changes in a tenant waits for the end of its audit chain anyway. */
const most_at_once = 4
/** Whoever comes when so many wait is refused at once. */
const most_waiting = 500
/** As long as a statement may take. */
const usual_queue_wait_ms = 5000

interface Queue {
  under_way: number
  readonly waiting: Set<() => void>
}

const late = () => new Problem('dependency_unavailable', undefined, new Error('too many requests of this tenant are under way'))

/**
 * Bulkheads: transactions of one tenant share a few connections of the pool. Where somebody holds a lock of that tenant, its requests wait
 * here, without a connection, and everybody else's go on.
 */
export const tenantQueues = (wait_ms = usual_queue_wait_ms) => {
  const queues = new Map<string, Queue>()

  const turnIn = async (queue: Queue): Promise<void> => {
    if (queue.under_way < most_at_once) {
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
    // The place of whoever has gone is handed on: the count stays.
    await promise.finally(() => clearTimeout(timer))
  }

  return async <T>(tenant: string, act: () => Promise<T>): Promise<T> => {
    const queue: Queue = queues.get(tenant) ?? { under_way: 0, waiting: new Set() }
    queues.set(tenant, queue)
    await turnIn(queue)
    try {
      return await act()
    } finally {
      const [next] = queue.waiting
      if (next) {
        queue.waiting.delete(next)
        next()
      } else {
        queue.under_way -= 1
        if (queue.under_way === 0) queues.delete(tenant)
      }
    }
  }
}
export type TenantQueues = ReturnType<typeof tenantQueues>
