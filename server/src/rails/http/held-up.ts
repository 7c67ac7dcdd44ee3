import { isLockTimeout } from '#ground/db/database-errors.ts'
import { Problem, unavailable } from '#ground/kernel/problem.ts'
import { fewPlaces } from './few-places.ts'

/** How long a lock is waited for with a connection: the first time, and by those that are known to be held up. */
export const lockWaits = { first_ms: 250, again_ms: 400 }

/** What one tenant has under way. */
interface Tenant {
  under_way: number
  is_held_up: boolean
  /** The last that tries again: the next one waits for it. */
  last: Promise<unknown>
}

const late = () => unavailable('lock timeout: another transaction holds a lock of this tenant')

/** An earlier request met the lock while this one waited for a connection, so this one does not try. */
class HeldUpMeanwhile extends Error {}

/** It has a connection of its tenant's, and nobody of the few that may wait for locks has gone: it gives the connection back. */
class NoPlace extends Error {}

/** Called when it has a connection: says how long it may wait for a lock, or throws where it must not even try. */
export type LockWait = () => number

const isOfLock = (error: unknown): boolean =>
  error instanceof HeldUpMeanwhile ||
  (error instanceof Problem ? error.code === 'dependency_unavailable' && isLockTimeout(error.cause) : isLockTimeout(error))

/**
 * Another transaction holds a lock of a tenant, such as the end of its audit chain. A request that meets the lock gives its connection back and
 * tries again later: one of a tenant at a time, and few of all tenants. Meanwhile it waits without a connection.
 */
export const heldUpTenants = (most_held_up: number, wait_ms: number) => {
  const tenants = new Map<string, Tenant>()
  const places = fewPlaces(most_held_up)

  const inOrder = <T>(tenant: Tenant, act: () => Promise<T>): Promise<T> => {
    const mine = tenant.last.then(act)
    tenant.last = mine.catch(() => {})
    return mine
  }

  /** Takes one of the few places only when it has its tenant's connection: those of other tenants need not wait for that. */
  const withPlace = async <T>(attempt: (lockWait: LockWait) => Promise<T>, lockWait: LockWait, isLate: () => boolean): Promise<T> => {
    const inLine = places.line()
    try {
      while (!isLate()) {
        let has_place = false
        try {
          return await attempt(() => {
            has_place = inLine.take()
            if (!has_place) throw new NoPlace()
            return lockWait()
          })
        } catch (error) {
          if (!(error instanceof NoPlace)) throw error
        } finally {
          if (has_place) places.giveBack()
        }
        await inLine.untilOneIsFree()
      }
      throw late()
    } finally {
      inLine.leave()
    }
  }

  /** Tries it when its turn comes, unless that is too late: then it has been refused already. */
  const tryAgain = <T>(tenant: Tenant, until: number, attempt: (lockWait: LockWait) => Promise<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = setTimeout(() => reject(late()), Math.max(0, until - performance.now()))
    let is_late = false
    promise.catch(() => {
      is_late = true
    })
    const trying_again = inOrder(tenant, () =>
      withPlace(
        attempt,
        () => {
          if (is_late) throw late()
          clearTimeout(timer)
          // Somebody before has been let in: then nothing is held any more.
          return tenant.is_held_up ? lockWaits.again_ms : lockWaits.first_ms
        },
        () => is_late,
      ),
    )
    trying_again.then(resolve, reject).finally(() => clearTimeout(timer))
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
