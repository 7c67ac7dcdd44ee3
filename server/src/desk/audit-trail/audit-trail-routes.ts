import * as auditLogs from '@gatehouse/contract/audit-logs'
import { answer } from '#rails/http/answer.ts'
import { listOrganizationAuditLogs, listPlatformAuditLogs, listProjectAuditLogs } from './list-audit-logs.ts'
import type { SentenceOf } from './sentence.ts'
import { type VerifyRecord, verifyAuditLogs } from './verify-audit-logs.ts'

export const auditTrailRoutes = (verify: VerifyRecord, sentenceOf: SentenceOf) => [
  answer(auditLogs.listPlatformAuditLogs, listPlatformAuditLogs(sentenceOf)),
  answer(auditLogs.listOrganizationAuditLogs, listOrganizationAuditLogs(sentenceOf)),
  answer(auditLogs.listProjectAuditLogs, listProjectAuditLogs(sentenceOf)),
  answer(auditLogs.verifyAuditLogs, verifyAuditLogs(verify)),
]
