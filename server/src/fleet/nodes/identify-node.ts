import type { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { Database } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import type { Showing } from '#rails/http/answer.ts'
import { certificateShown, type ShownCertificate } from './certificate-queries.ts'
import { sha256Of } from './issue-certificate.ts'
import { noteSeen } from './node-queries.ts'
import type { RecordRefusal } from './refusal-recorder.ts'

/** What a certificate says of itself is somebody's word, and not recorded longer than ours would be. */
const commonName = ({ subject }: X509Certificate): string | null => /(?:^|\n)CN=([^\n]{1,64})/.exec(subject ?? '')?.[1] ?? null

/** Why a certificate is nobody's any more; undefined where it is a node's. */
const endOf = (shown: ShownCertificate | undefined, is_ours: boolean): string | undefined => {
  if (!shown || !is_ours) return 'not_ours'
  if (shown.status === 'retired') return 'node_retired'
  if (shown.ended_at !== null) return 'ended'
  if (shown.is_expired) return 'expired'
  return shown.is_of_earlier_epoch ? 'backup_restored' : undefined
}

/**
 * Which node speaks: by the certificate of its connection, and by nothing in what it says. It is looked up for each request, so that on a
 * connection that stays open the next request finds the end of it.
 */
export const identifyNode =
  (database: Database, refuse: RecordRefusal) =>
  async (socket: TLSSocket, { correlation_id, source_ip }: Showing & { readonly source_ip: string }): Promise<Actor> => {
    const certificate = socket.getPeerX509Certificate?.()
    if (!certificate) throw new Problem('certificate_missing')
    const thumbprint = sha256Of(certificate.raw)
    const shown = await database.reader.maybe(certificateShown(thumbprint))
    // That the authority has signed it was found when the connection began; its time may have come since.
    const is_ours = socket.authorized || (socket.authorizationError as unknown) === 'CERT_HAS_EXPIRED'
    const why = endOf(shown, is_ours)
    if (!shown || why !== undefined) {
      await refuse({
        action: 'node.certificate.refuse',
        node_id: is_ours ? (shown?.node_id ?? null) : null,
        credential_id: shown?.serial ?? null,
        reason_code: 'membership_missing',
        correlation_id,
        source_ip,
        metadata: { why, thumbprint, claimed: commonName(certificate) },
      })
      throw new Problem('insufficient_permissions', { reason_code: 'membership_missing' })
    }
    if (!shown.is_seen_lately) await database.transaction('write', (tx) => tx.maybe(noteSeen(shown.node_id)))
    return { type: 'node_agent', id: shown.node_id, credential_id: shown.serial }
  }
export type IdentifyNode = ReturnType<typeof identifyNode>
