import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Nullable, OneOf } from './shapes.ts'

export const AuditLog = Exactly({
  id: Id('audit'),
  seq: Type.Integer({ minimum: 1, description: 'Its place in the chain of its tenant, or of the platform.' }),
  occurred_at: Instant,
  sentence: Type.String({ description: 'What happened, for people.' }),
  correlation_id: Type.String(),
  actor_type: Type.String(),
  actor_id: Nullable(Type.String()),
  actor_name: Nullable(Type.String()),
  credential_id: Nullable(
    Type.String({
      description:
        'Of a machine: the service account key, operator credential, node certificate (its serial) or enrolment it authenticated with.',
    }),
  ),
  jti: Nullable(Type.String({ description: 'Of a machine: the id of the token it showed or was issued.' })),
  platform_role: Nullable(Type.String({ description: 'Of a person who was judged; null for machines.' })),
  tenant_id: Nullable(Type.String()),
  project_id: Nullable(Type.String()),
  resource_type: Type.String(),
  resource_id: Nullable(Type.String()),
  resource_name: Nullable(Type.String()),
  action: Type.String(),
  result: OneOf(['success', 'denied', 'failed']),
  reason_code: Nullable(Type.String()),
  severity: OneOf(['info', 'warning', 'high']),
  metadata: Type.Unknown(),
  hash: Type.String({ description: 'Keyed hash over this row and the one before it, in hexadecimal.' }),
})
export type AuditLog = Static<typeof AuditLog>

const Word = Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9._:-]+$' })

/** All of them narrow; together they are and-ed. */
const filter = {
  from: Type.Optional(GivenInstant),
  to: Type.Optional(GivenInstant),
  actor_type: Type.Optional(Word),
  actor_id: Type.Optional(Word),
  credential_id: Type.Optional(Word),
  jti: Type.Optional(Word),
  action: Type.Optional(Word),
  resource_type: Type.Optional(Word),
  resource_id: Type.Optional(Word),
  result: Type.Optional(OneOf(['success', 'denied', 'failed'])),
  severity: Type.Optional(OneOf(['info', 'warning', 'high'])),
  correlation_id: Type.Optional(Word),
}
export type AuditFilter = Static<ReturnType<typeof Exactly<typeof filter>>>

const newestFirst = 'Newest first. Reading is itself recorded.'

export const listPlatformAuditLogs = listOperation({
  id: 'audit_log.list_all',
  path: '/api/v1/admin/audit-logs',
  summary: 'The record of the whole platform: its own chain and every tenant.',
  description: newestFirst,
  is_exportable: true,
  actors: ['user'],
  action: 'platform.audit.read',
  effect: 'recorded_read',
  query: { ...filter, tenant_id: Type.Optional(Id('org')) },
  item: AuditLog,
  problems: [],
})

export const listOrganizationAuditLogs = listOperation({
  id: 'audit_log.list_of_organization',
  path: '/api/v1/orgs/:org_id/audit-logs',
  summary: 'The record of one organization.',
  description: newestFirst,
  is_exportable: true,
  actors: ['user'],
  action: 'tenant.audit.read',
  effect: 'recorded_read',
  params: { org_id: Id('org') },
  query: filter,
  item: AuditLog,
  problems: ['organization_not_found'],
})

export const listProjectAuditLogs = listOperation({
  id: 'audit_log.list_of_project',
  path: '/api/v1/projects/:project_id/audit-logs',
  summary: 'The record of one project.',
  description: newestFirst,
  is_exportable: true,
  actors: ['user', 'service_account'],
  action: 'project.audit.read',
  effect: 'recorded_read',
  params: { project_id: Id('project') },
  query: filter,
  item: AuditLog,
  problems: ['project_not_found'],
})

export const AuditVerification = Exactly({
  rows: Type.Integer(),
  chains: Type.Integer(),
  checkpoints: Type.Integer({ description: 'How many signed checkpoints outside the database were compared.' }),
  faults: Type.Array(
    Exactly({
      chain_id: Type.String(),
      tenant_id: Nullable(Type.String()),
      first_bad_seq: Type.Integer(),
      kind: Type.String(),
      sentence: Type.String(),
    }),
  ),
  accepted: Type.Array(Exactly({ epoch: Type.Integer(), at: Instant, sentence: Type.String() }), {
    description: 'Restores that an operator accepted, with the rows that each gave up. They are no faults.',
  }),
})

export const verifyAuditLogs = operation({
  id: 'audit_log.verify',
  method: 'GET',
  path: '/api/v1/admin/audit-logs/verify',
  summary: 'Follows every chain from its beginning and compares it with the signed checkpoints; names the tenant and the first bad row.',
  actors: ['user'],
  action: 'platform.audit.read',
  description: 'One at a time on each server; a record of many millions of rows is verified by `npm run audit:verify`.',
  effect: 'recorded_read',
  reply: AuditVerification,
  problems: ['state_conflict'],
})
