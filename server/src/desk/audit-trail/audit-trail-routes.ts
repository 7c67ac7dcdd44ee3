import * as auditLogs from '@gatehouse/contract/audit-logs'
import { answer } from '#rails/http/answer.ts'
import { listOrganizationAuditLogs, listPlatformAuditLogs, listProjectAuditLogs } from './list-audit-logs.ts'
import { type VerifyRecord, verifyAuditLogs } from './verify-audit-logs.ts'

export const auditTrailRoutes = (verify: VerifyRecord) => [
  answer(auditLogs.listPlatformAuditLogs, listPlatformAuditLogs),
  answer(auditLogs.listOrganizationAuditLogs, listOrganizationAuditLogs),
  answer(auditLogs.listProjectAuditLogs, listProjectAuditLogs),
  answer(auditLogs.verifyAuditLogs, verifyAuditLogs(verify)),
]
