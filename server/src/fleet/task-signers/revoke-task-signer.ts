import type { revokeTaskSigner as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { taskSignerKind } from './task-signer.ts'
import { activateSigner, endSigner, findSigner, liveSigners, lockSigners } from './task-signer-queries.ts'

/**
 * No node is told of it any more, and nothing that it signed is given out. What is not done is signed anew by the tender, task by task: each
 * behind the lock of what it concerns.
 */
export const revokeTaskSigner =
  (tendSoon: () => void): Answering<typeof Op> =>
  async (work, { params, body }) => {
    await work.tx.one(lockSigners())
    const signer = await authorize(work, 'platform.node.manage', taskSignerKind, await work.tx.maybe(findSigner(params.kid)))
    if (signer.state === 'retired' || signer.state === 'revoked') throw new Problem('state_conflict', { state: signer.state })
    const ended = { state: 'revoked', by: work.actor.id, reason: body.reason, now: work.now } as const
    const revoked = await work.tx.one(endSigner(signer, signer.kid, ended))
    const next = signer.state === 'active' ? (await work.tx.many(liveSigners())).find(({ state }) => state === 'staged') : undefined
    if (next) await work.tx.one(activateSigner(signer, next.kid, work.now))
    record(work, {
      action: 'node.signer.revoke',
      resource_type: 'task_signer',
      resource_id: signer.kid,
      severity: 'high',
      metadata: { version: signer.version, from_state: signer.state, next_kid: next?.kid ?? null, reason: body.reason },
    })
    tendSoon()
    return revoked
  }
