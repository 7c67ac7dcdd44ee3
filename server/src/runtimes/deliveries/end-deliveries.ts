import type { Work } from '#ground/work/work.ts'
import type { Delivering } from './delivery.ts'
import { endDeliveries } from './delivery-queries.ts'

/** As a record tells it: no row of it grows with how many there were. */
interface Ended {
  readonly deliveries_ended: readonly string[]
  readonly deliveries_ended_count: number
}

/** What waits of these subjects is void. */
export const endDeliveriesOf = async ({ tx, now }: Work, proof: Delivering, subject_ids: readonly string[]): Promise<Ended> => {
  const ids = (await tx.many(endDeliveries(proof, subject_ids, now))).map(({ id }) => id)
  return { deliveries_ended: ids.slice(0, 20), deliveries_ended_count: ids.length }
}
