import type { enrolNode as Op } from '@gatehouse/contract/nodes'
import type { Database } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { type Actor, newTrail, type Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Caller, Issuing } from '#rails/http/answer.ts'
import type { Authority } from './authority.ts'
import { useEnrolment } from './enrolment-queries.ts'
import { NoEnrolment, openedBy, tokenIn } from './find-enrolment.ts'
import { giveCertificate, toldCertificate } from './give-certificate.ts'
import { nodeKind } from './node.ts'
import { lockNode, lookAtNode, setEnrolled } from './node-queries.ts'
import type { NodeSubscribers } from './node-subscribers.ts'
import type { RecordRefusal } from './refusal-recorder.ts'

interface Parts {
  readonly database: Database
  readonly append: Append
  readonly authority: Authority
  readonly refuse: RecordRefusal
  readonly subscribers: Pick<NodeSubscribers, 'beforeNodeLocked' | 'onNodeEnrolled'>
}

/**
 * A node's first certificate, or the first of a new machine in its place: for a token that was never used, and a key that the caller has.
 * Everything is one transaction behind the lock of the node, so that of two with one token one wins. Who asks again with the same token and
 * the same key has not heard the answer: he gets it once more, and nothing else happens.
 */
export const enrolNode = ({ database, append, authority, refuse, subscribers }: Parts): Issuing<typeof Op> => {
  const { beforeNodeLocked, onNodeEnrolled } = subscribers
  const enrolled = (caller: Caller, { enrolment_token, csr, agent_version }: Parameters<Issuing<typeof Op>>[1]['body']) => {
    const shown = tokenIn(enrolment_token)
    return database.transaction('write', async (tx) => {
      // Looked at before anything is locked: a stranger must hold up nobody.
      const found = await openedBy(tx, shown, await tx.maybe(lookAtNode(shown.node_id)), csr)
      const actor: Actor = { type: 'node_agent', id: found.node.id, credential_id: found.enrolment.id }
      await caller.identified(actor)
      const { correlation_id, source_ip } = caller
      const work: Work = { actor, correlation_id, source_ip, trail: newTrail(), now: tx.now, tx }
      const node = await authorize(work, 'node.certificate.renew', nodeKind, found.node)
      for (const lock of beforeNodeLocked) await lock(work, node)
      const opened = await openedBy(tx, shown, await tx.maybe(lockNode(node.id)), csr)
      const { enrolment } = opened
      const about = { resource_type: 'node', resource_id: node.id } as const
      const named = { name: node.name, enrolment_id: enrolment.id }
      if ('given' in opened) {
        record(work, { action: 'node.enrol.repeat', ...about, metadata: { ...named, serial: opened.given.serial } })
        await append(work)
        return { reply: await toldCertificate(work, authority, node.id, opened.given), trail: work.trail }
      }

      const giving = { key: opened.key, enrolment_id: enrolment.id, kept: 1, reason: 'enrolled again' }
      const { reply, metadata } = await giveCertificate(work, authority, node, giving)
      await tx.one(useEnrolment(node, enrolment.id, work.now))
      await tx.one(setEnrolled(node, { agent_version: agent_version ?? null, protocol_version: caller.node_protocol }, work.now))
      for (const subscriber of onNodeEnrolled) await subscriber(work, node)
      record(work, { action: 'node.enrol', ...about, severity: 'high', metadata: { ...named, ...metadata } })
      await append(work)
      return { reply, trail: work.trail }
    })
  }

  return async (caller, { body }) => {
    try {
      const { reply, trail } = await enrolled(caller, body)
      caller.trail.asked.push(...trail.asked)
      caller.trail.events.push(...trail.events)
      return reply
    } catch (error) {
      if (!(error instanceof NoEnrolment)) throw error
      const { correlation_id, source_ip } = caller
      const { node_id, enrolment_id: credential_id, why } = error
      const reason_code = 'token_invalid'
      await refuse({ action: 'node.enrol', node_id, credential_id, reason_code, correlation_id, source_ip, metadata: { why } })
      throw new Problem('token_invalid')
    }
  }
}
