import type { Work } from '../work/work.ts'
import type { Delivering } from './delivery.ts'
import { endDeliveries } from './delivery-queries.ts'

/** What waits of these subjects is void; returns which were. */
export const endDeliveriesOf = async ({ tx, now }: Work, proof: Delivering, subject_ids: readonly string[]): Promise<string[]> =>
  (await tx.many(endDeliveries(proof, subject_ids, now))).filter(({ state }) => state === 'revoked').map(({ id }) => id)
