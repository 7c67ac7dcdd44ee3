import type { rotateTaskSigner as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { activateSigner, beginGraceOfSigner, liveSigners, lockSigners } from './task-signer-queries.ts'
import { task_lifetime_ms } from './task-signing.ts'

/** Who is queuing at this moment may have read the former version, and a node's clock may be behind by as much. */
const settling_ms = 2 * 60 * 1000

/** Nodes know the next version from every answer that they have had since it was made, and are told again with each task. */
export const rotateTaskSigner =
  (tendSoon: () => void): Answering<typeof Op> =>
  async (work, { body }) => {
    await work.tx.one(lockSigners())
    const platform = await authorize(work, 'platform.node.manage', platformKind, thePlatform)
    const versions = await work.tx.many(liveSigners())
    const next = versions.find(({ state }) => state === 'staged')
    const former = versions.find(({ state }) => state === 'active')
    tendSoon()
    if (!next) throw new Problem('state_conflict', { detail: 'no_next_key' })
    const at_least = new Date(Date.parse(work.now) + task_lifetime_ms + settling_ms).toISOString()
    const past = former && (await work.tx.one(beginGraceOfSigner(platform, former.kid, at_least)))
    const active = await work.tx.one(activateSigner(platform, next.kid, work.now))
    record(work, {
      action: 'node.signer.rotate',
      resource_type: 'task_signer',
      resource_id: next.kid,
      severity: 'high',
      metadata: {
        version: next.version,
        from_kid: past?.kid ?? null,
        grace_until: past?.grace_until ?? null,
        reason: body.reason,
      },
    })
    return active
  }
