import type { retireSigningKey as Op } from '@gatehouse/contract/signing-keys'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { signingKeyKind } from './signing-key.ts'
import { endKey, findKey, lockKeys } from './signing-key-queries.ts'

export const retireSigningKey =
  (tendSoon: () => void): Answering<typeof Op> =>
  async (work, { params, body }) => {
    await work.tx.one(lockKeys())
    const key = await authorize(work, 'platform.admin', signingKeyKind, await work.tx.maybe(findKey(params.kid)))
    // The one that signs is not put away; it is rotated, or revoked.
    if (key.state !== 'staged' && key.state !== 'grace') throw new Problem('state_conflict', { state: key.state })
    await work.tx.one(endKey(key, key.kid, { state: 'retired', by: work.actor.id, reason: body.reason, now: work.now }))
    record(work, {
      action: 'signing_key.retire',
      resource_type: 'signing_key',
      resource_id: key.kid,
      severity: 'high',
      metadata: { alg: key.alg, custody: key.custody, from_state: key.state, reason: body.reason },
    })
    tendSoon()
    return work.tx.one(findKey(key.kid))
  }
