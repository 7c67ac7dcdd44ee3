import type { revokeSigningKey as Op } from '@gatehouse/contract/signing-keys'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { signingKeyKind } from './signing-key.ts'
import { activateKey, endKey, findKey, liveKeys, lockKeys } from './signing-key-queries.ts'

const isOver = (state: string) => state === 'retired' || state === 'revoked'

export const revokeSigningKey =
  (tendSoon: () => void): Answering<typeof Op> =>
  async (work, { params, body }) => {
    await work.tx.one(lockKeys())
    const key = await authorize(work, 'platform.admin', signingKeyKind, await work.tx.maybe(findKey(params.kid)))
    if (isOver(key.state)) throw new Problem('state_conflict', { state: key.state })
    await work.tx.one(endKey(key, key.kid, { state: 'revoked', by: work.actor.id, reason: body.reason, now: work.now }))
    const next = key.state === 'active' ? (await work.tx.many(liveKeys())).find(({ state }) => state === 'staged') : undefined
    // However new it is: who does not know it yet fetches again, and a platform that cannot issue stands still.
    if (next) await work.tx.one(activateKey(key, next.kid, work.now))
    record(work, {
      action: 'signing_key.revoke',
      resource_type: 'signing_key',
      resource_id: key.kid,
      severity: 'high',
      metadata: { alg: key.alg, custody: key.custody, from_state: key.state, next_kid: next?.kid ?? null, reason: body.reason },
    })
    tendSoon()
    return work.tx.one(findKey(key.kid))
  }
