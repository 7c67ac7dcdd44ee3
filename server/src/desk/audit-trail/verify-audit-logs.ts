import type { AuditVerification, verifyAuditLogs as Op } from '@gatehouse/contract/audit-logs'
import type { Static } from 'typebox'
import { record } from '#rails/audit/record.ts'
import type { Verified } from '#rails/audit/verify-chains.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'

/** Follows the chains with what this process knows: the key and the checkpoints; in a snapshot of its own. */
export type VerifyRecord = () => Promise<Verified & Readonly<Pick<Static<typeof AuditVerification>, 'checkpoints' | 'accepted'>>>

export const verifyAuditLogs =
  (verify: VerifyRecord): Answering<typeof Op> =>
  async (work) => {
    await authorize(work, 'platform.audit.read', platformKind, thePlatform)
    const { rows, chains, checkpoints, faults, accepted } = await verify()
    record(work, {
      action: 'audit_log.verify',
      resource_type: 'audit_log',
      resource_id: 'platform',
      severity: faults.length === 0 ? 'info' : 'high',
      metadata: { rows, chains, checkpoints, faults: faults.slice(0, 20) },
    })
    return { rows, chains, checkpoints, faults: [...faults], accepted }
  }
