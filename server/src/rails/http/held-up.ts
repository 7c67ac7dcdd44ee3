import { isLockTimeout } from '#ground/db/database-errors.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { semaphore } from '#ground/kernel/semaphore.ts'

/** How long a lock is waited for with a connection: the first time, and by those that are known to be held up. */
export const lockWaits = { first_ms: 250, again_ms: 400 }
/** Of the ten connections of a pool so many wait for locks of tenants that are held up, however many tenants those are. */
const most_held_up = 2

/** What one tenant has under way. */
interface Tenant {
  under_way: number
  is_held_up: boolean
  /** The last that tries again: the next one waits for it. */
  last: Promise<unknown>
}

const late = () =>
  new Problem('dependency_unavailable', undefined, new Error('lock timeout: another transaction holds a lock of this tenant'))

/** An earlier request met the lock while this one waited for a connection, so this one does not try. */
class HeldUpMeanwhile extends Error {}

/** Called when it has a connection: says how long it may wait for a lock, or throws where it must not even try. */
export type LockWait = () => number

const isOfLock = (error: unknown): boolean =>
  error instanceof HeldUpMeanwhile ||
  (error instanceof Problem ? error.code === 'dependency_unavailable' && isLockTimeout(error.cause) : isLockTimeout(error))

/**
 * Another transaction holds a lock of a tenant, such as the end of its audit chain. A request that meets the lock gives its connection back and
 * tries again later: one of a tenant at a time, and few of all tenants. Meanwhile it waits without a connection.
 */
export const heldUpTenants = (wait_ms: number) => {
  const tenants = new Map<string, Tenant>()
  const oneOfFew = semaphore(most_held_up)

  const inOrder = <T>(tenant: Tenant, act: () => Promise<T>): Promise<T> => {
    const mine = tenant.last.then(() => oneOfFew(act))
    tenant.last = mine.catch(() => {})
    return mine
  }

  /** Tries it when its turn comes, unless that is too late: then it has been refused already. */
  const tryAgain = <T>(tenant: Tenant, until: number, attempt: (lockWait: LockWait) => Promise<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = setTimeout(() => reject(late()), Math.max(0, until - performance.now()))
    let is_late = false
    promise.catch(() => {
      is_late = true
    })
    const trying_again = inOrder(tenant, async () => {
      if (is_late) throw late()
      clearTimeout(timer)
      // Somebody before has been let in: then nothing is held any more.
      return attempt(() => (tenant.is_held_up ? lockWaits.again_ms : lockWaits.first_ms))
    })
    trying_again.then(resolve, reject)
    return promise
  }

  const firstWait =
    (tenant: Tenant): LockWait =>
    () => {
      if (tenant.is_held_up) throw new HeldUpMeanwhile()
      return lockWaits.first_ms
    }

  return async <T>(tenant_id: string, attempt: (lockWait: LockWait) => Promise<T>): Promise<T> => {
    const tenant: Tenant = tenants.get(tenant_id) ?? { under_way: 0, is_held_up: false, last: Promise.resolve() }
    tenants.set(tenant_id, tenant)
    tenant.under_way += 1
    const until = performance.now() + wait_ms
    try {
      for (;;)
        try {
          const done = await (tenant.is_held_up ? tryAgain(tenant, until, attempt) : attempt(firstWait(tenant)))
          tenant.is_held_up = false
          return done
        } catch (error) {
          if (!isOfLock(error)) throw error
          // It waited for its connection so long that it did not even meet the lock: its caller is told the same.
          if (performance.now() >= until) throw error instanceof HeldUpMeanwhile ? late() : error
          tenant.is_held_up = true
        }
    } finally {
      tenant.under_way -= 1
      if (tenant.under_way === 0) tenants.delete(tenant_id)
    }
  }
}
export type HeldUpTenants = ReturnType<typeof heldUpTenants>
