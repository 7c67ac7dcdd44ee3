import type { enrolNode as Op } from '@gatehouse/contract/nodes'
import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import { authorize } from '../authz/authorize.ts'
import type { Database } from '../db/database.ts'
import type { Caller, Issuing } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { type Actor, newTrail, type Work } from '../work/work.ts'
import type { Authority } from './authority.ts'
import { type EnrolmentRow, enrolmentOf, useEnrolment } from './enrolment-queries.ts'
import { isSameHash, type ReadToken, readEnrolmentToken } from './enrolment-token.ts'
import { giveCertificate } from './give-certificate.ts'
import { nodeKind } from './node.ts'
import { lockNode, type NodeRow, setEnrolled } from './node-queries.ts'
import type { RecordRefusal } from './refusal-recorder.ts'

interface Parts {
  readonly database: Database
  readonly append: Append
  readonly authority: Authority
  readonly refuse: RecordRefusal
}

/** Held against where there is nothing to hold against, so that what is no token costs what a wrong one costs. */
const nobodys: ReadToken = { node_id: newId('node'), secret_hash: Buffer.alloc(32) }

/** Why a token opens nothing; undefined where it does. The caller is told none of it. */
const endOf = (row: EnrolmentRow | undefined, node: NodeRow | undefined, secret_hash: Buffer, now: string): string | undefined => {
  const isEqual = isSameHash(row?.secret_hash ?? nobodys.secret_hash, secret_hash)
  if (!row || !node) return 'unknown'
  if (!isEqual) return 'wrong_secret'
  if (row.is_used) return 'used'
  if (row.ended_at !== null) return 'void'
  if (row.is_of_earlier_epoch) return 'backup_restored'
  if (row.expires_at <= now) return 'expired'
  return node.status === 'retired' ? 'node_retired' : undefined
}

class NoEnrolment extends Error {
  readonly node_id: string | null
  readonly why: string
  constructor(node_id: string | null, why: string) {
    super(why)
    this.node_id = node_id
    this.why = why
  }
}

/**
 * A node's first certificate, or the first of a new machine in its place: for a token that was never used, and a key that the caller has.
 * Everything is one transaction behind the lock of the node, so that of two with one token one wins.
 */
export const enrolNode = ({ database, append, authority, refuse }: Parts): Issuing<typeof Op> => {
  const enrolled = (caller: Caller, { enrolment_token, csr, agent_version }: Parameters<Issuing<typeof Op>>[1]['body']) => {
    const shown = readEnrolmentToken(enrolment_token) ?? nobodys
    return database.transaction('write', async (tx) => {
      const row = await tx.maybe(lockNode(shown.node_id))
      const enrolment = await tx.maybe(enrolmentOf(shown.node_id, shown.secret_hash))
      const why = endOf(enrolment, row, shown.secret_hash, tx.now)
      if (why !== undefined || !row || !enrolment) throw new NoEnrolment(row?.id ?? null, why ?? 'unknown')
      const actor: Actor = { type: 'node_agent', id: row.id }
      await caller.identified(actor)
      const { correlation_id, source_ip } = caller
      const work: Work = { actor, correlation_id, source_ip, trail: newTrail(), now: tx.now, tx }
      const node = await authorize(work, 'node.certificate.renew', nodeKind, row)
      const { reply, metadata } = await giveCertificate(work, authority, node, { csr, kept: 1, reason: 'enrolled again' })
      await tx.one(useEnrolment(node, enrolment.id, work.now))
      await tx.one(setEnrolled(node, agent_version ?? null, work.now))
      record(work, {
        action: 'node.enrol',
        resource_type: 'node',
        resource_id: node.id,
        severity: 'high',
        metadata: { name: row.name, enrolment_id: enrolment.id, ...metadata },
      })
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
      const { node_id, why } = error
      await refuse({ action: 'node.enrol', node_id, reason_code: 'token_invalid', correlation_id, source_ip, metadata: { why } })
      throw new Problem('token_invalid')
    }
  }
}
