import { newId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'
import { readPolicy } from '../policies/read-policy.ts'
import type { Work } from '../work/work.ts'
import type { Delivering, Delivery, Promised } from './delivery.ts'
import { expireDeliveries, insertDelivery } from './delivery-queries.ts'
import { hashOfToken, newWrappingToken } from './wrapping-token.ts'

interface Wrapped {
  readonly delivery_id: Delivery['id']
  readonly token: Secret
  readonly ends_at: string
}

/** Promises something to one requester, who alone opens it, once. Whoever calls it holds what is promised, and records it by name. */
export const wrap = async ({ tx, now }: Work, proof: Delivering, promised: Promised): Promise<Wrapped> => {
  const { org_id: tenant_id, project_id } = promised
  const ttl_seconds = await readPolicy(tx, 'deliveries.ttl_seconds', { tenant_id, project_id })
  // So that what waits stays few, however often it is asked for.
  await tx.many(expireDeliveries(proof, promised.subject_id, now))
  const token = newWrappingToken()
  const made = { ...promised, id: newId('delivery'), token_hash: hashOfToken(token), ttl_seconds }
  const { id, ends_at } = await tx.one(insertDelivery(proof, made, now))
  return { delivery_id: id, token, ends_at }
}
