import type { KeyObject } from 'node:crypto'
import type { Tx } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { certificateGivenBy, type GivenCertificate } from './certificate-queries.ts'
import { type EnrolmentRow, enrolmentOf } from './enrolment-queries.ts'
import { isSameHash, type ReadToken, readEnrolmentToken } from './enrolment-token.ts'
import { sha256Of, spkiOf } from './issue-certificate.ts'
import type { NodeRow } from './node-queries.ts'
import { keyOfRequest } from './signing-request.ts'

/** A token that opens nothing, and why. The caller is told none of it. */
export class NoEnrolment extends Error {
  readonly node_id: string | null
  /** Of the enrolment whose token it is; null where no enrolment has such a secret. */
  readonly enrolment_id: string | null
  readonly why: string
  constructor(node_id: string | null, enrolment_id: string | null, why: string) {
    super(why)
    this.node_id = node_id
    this.enrolment_id = enrolment_id
    this.why = why
  }
}

/** Held against where there is nothing to hold against, so that what is no token costs what a wrong one costs. */
const nobodys: ReadToken = { node_id: newId('node'), secret_hash: Buffer.alloc(32) }

export const tokenIn = (text: string): ReadToken => readEnrolmentToken(text) ?? nobodys

/** Undefined where it does open something. */
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

/** What a used token gave, where it is asked for again in its time, for the same key: that of a node that did not hear the answer. */
const givenBefore = async (tx: Tx, row: EnrolmentRow, node: NodeRow, csr: string): Promise<GivenCertificate | undefined> => {
  if (row.is_of_earlier_epoch || row.expires_at <= tx.now || node.status === 'retired') return undefined
  const given = await tx.maybe(certificateGivenBy(row.id, tx.now))
  // Whatever is wrong with the request, the token is a used one.
  const key = given && (await keyOfRequest(csr).catch(() => undefined))
  return key && sha256Of(spkiOf(key)) === given.key_thumbprint ? given : undefined
}

interface Found {
  readonly node: NodeRow
  readonly enrolment: EnrolmentRow
}
/** Either it gives a certificate for this key, or it has given one. */
type Opened = Found & ({ readonly key: KeyObject } | { readonly given: GivenCertificate })

/** What a token opens for the key of a request; refused where that is nothing. */
export const openedBy = async (tx: Tx, shown: ReadToken, node: NodeRow | undefined, csr: string): Promise<Opened> => {
  const enrolment = await tx.maybe(enrolmentOf(shown.node_id, shown.secret_hash))
  const why = endOf(enrolment, node, shown.secret_hash, tx.now)
  if (!enrolment || !node) throw new NoEnrolment(node?.id ?? null, enrolment?.id ?? null, why ?? 'unknown')
  if (why === undefined) return { node, enrolment, key: await keyOfRequest(csr) }
  const given = why === 'used' ? await givenBefore(tx, enrolment, node, csr) : undefined
  if (!given) throw new NoEnrolment(node.id, why === 'wrong_secret' ? null : enrolment.id, why)
  return { node, enrolment, given }
}
