import type { rotateSigningKey as Op } from '@gatehouse/contract/signing-keys'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { activateKey, beginGrace, findKey, liveKeys, lockKeys } from './signing-key-queries.ts'
import { readUsableAt } from './usable-at.ts'

export const rotateSigningKey =
  (tendSoon: () => void): Answering<typeof Op> =>
  async (work, { body }) => {
    await work.tx.one(lockKeys())
    const platform = await authorize(work, 'platform.admin', platformKind, thePlatform)
    const keys = await work.tx.many(liveKeys())
    const next = keys.find(({ state }) => state === 'staged')
    const former = keys.find(({ state }) => state === 'active')
    tendSoon()
    if (!next) throw new Problem('state_conflict', { detail: 'no_next_key' })
    const usable_at = await readUsableAt(work, next)
    if (usable_at > work.now) throw new Problem('state_conflict', { detail: 'next_key_too_new', kid: next.kid, usable_at })
    // Who is issuing at this moment may have read the former key, and records its token after we have looked.
    const longest_ms = (await readPolicy(work.tx, 'auth.iam_token_issuer.max_ttl_seconds')) * 1000
    const at_least = new Date(Date.parse(work.now) + longest_ms).toISOString()
    const past = former && (await work.tx.one(beginGrace(platform, former.kid, at_least)))
    await work.tx.one(activateKey(platform, next.kid, work.now))
    record(work, {
      action: 'signing_key.rotate',
      resource_type: 'signing_key',
      resource_id: next.kid,
      severity: 'high',
      metadata: {
        alg: next.alg,
        from_kid: past?.kid ?? null,
        grace_until: past?.grace_until ?? null,
        reason: body.reason,
      },
    })
    return work.tx.one(findKey(next.kid))
  }
