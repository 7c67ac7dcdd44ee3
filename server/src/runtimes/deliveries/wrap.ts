import { newId } from '#ground/kernel/ids.ts'
import type { Secret } from '#ground/kernel/secret.ts'
import type { Work } from '#ground/work/work.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import type { Delivering, Delivery, Promised } from './delivery.ts'
import { countWaiting, insertDelivery } from './delivery-queries.ts'
import { hashOfToken, newWrappingToken } from './wrapping-token.ts'

interface Wrapped {
  readonly delivery_id: Delivery['id']
  readonly token: Secret
  readonly ends_at: string
}

/**
 * Promises something to one requester, who alone opens it, once. Whoever calls it holds what is promised, and has locked the requester's
 * row, so that nobody counts at the same time; and records it by name.
 */
export const wrap = async (work: Work, proof: Delivering, promised: Promised): Promise<Wrapped> => {
  const { tx, now } = work
  const place = { tenant_id: promised.org_id, project_id: promised.project_id }
  // So that whoever ends what waits has few to end, however often it was asked for.
  const { count } = await tx.one(countWaiting(promised.requester, now))
  await requireRoom(tx, 'deliveries.max_waiting_per_requester', count, place)
  const ttl_seconds = await readPolicy(tx, 'deliveries.ttl_seconds', place)
  const token = newWrappingToken()
  const made = { ...promised, id: newId('delivery'), token_hash: hashOfToken(token), ttl_seconds }
  const { id, ends_at } = await tx.one(insertDelivery(proof, made, now))
  return { delivery_id: id, token, ends_at }
}
