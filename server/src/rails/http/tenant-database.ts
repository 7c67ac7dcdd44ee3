import { connectionSharesOf } from '#ground/db/connection-shares.ts'
import type { Database, TransactionOptions } from '#ground/db/database.ts'
import { type HeldUpTenants, heldUpTenants } from './held-up.ts'
import { type TenantQueues, tenantQueues, usual_queue_wait_ms } from './tenant-queues.ts'
import { type TenantTurns, tenantTurns } from './tenant-turns.ts'

/** What keeps tenants out of each other's way in one process. */
export interface Bulkheads {
  readonly turns: TenantTurns
  readonly queues: TenantQueues
  readonly heldUp: HeldUpTenants
  readonly wait_ms: number
}

export const bulkheads = (
  { connections }: Pick<Database, 'connections'>,
  turns: TenantTurns = tenantTurns(),
  wait_ms: number = usual_queue_wait_ms,
): Bulkheads => {
  const { lent, held_up } = connectionSharesOf(connections)
  return { turns, queues: tenantQueues({ lent, wait_ms, mayBorrow: turns.mayBorrow }), heldUp: heldUpTenants(held_up, wait_ms), wait_ms }
}

/**
 * The database as requests of one tenant use it: they have few connections at a time, give them back where a lock of theirs is held, and pay for what
 * they take.
 */
export const tenantDatabase = (
  database: Pick<Database, 'transaction'>,
  { turns, queues, heldUp, wait_ms }: Bulkheads,
  tenant: string,
): Pick<Database, 'transaction'> => {
  const payer = turns.payer(tenant, wait_ms)
  return {
    transaction: (mode, within, options) => {
      const once = (more: () => TransactionOptions) =>
        queues(tenant, async () => database.transaction(mode, within, { ...options, ...more(), payer }))
      // A read waits for no lock.
      if (mode === 'read' || options?.lock_wait_ms !== undefined) return once(() => ({}))
      return heldUp(tenant, (lockWait) => once(() => ({ lock_wait_ms: lockWait() })))
    },
  }
}
