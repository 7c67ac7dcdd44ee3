import type {
  AuditFilter,
  AuditLog,
  listOrganizationAuditLogs as OfOrganization,
  listPlatformAuditLogs as OfPlatform,
  listProjectAuditLogs as OfProject,
} from '@gatehouse/contract/audit-logs'
import type { Work } from '#ground/work/work.ts'
import { organizationKind } from '#people/tenancy/organization.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { projectKind } from '#people/tenancy/project.ts'
import { findProject } from '#people/tenancy/project-queries.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { type Answering, Lines, type Listed, listed, type Slice } from '#rails/http/answer.ts'
import { type AuditRow, auditRows, nextAuditRows, openAuditRows, rowsAtOnce, type Within } from './audit-log-queries.ts'
import type { SentenceOf } from './sentence.ts'

/** An export goes on where it stopped, so one answer need not hold everything. */
const linesAtMost = 10_000

/** One more than is wanted, where there are more. */
const rowsInPieces = async (work: Work, within: Within, filter: AuditFilter, { limit, after }: Slice): Promise<AuditRow[]> => {
  if (limit < rowsAtOnce) return work.tx.many(auditRows(within, filter, after, limit + 1))
  await work.tx.many(openAuditRows(within, filter, after, limit + 1))
  const rows: AuditRow[] = []
  for (;;) {
    const piece = await work.tx.many(nextAuditRows())
    for (const row of piece) rows.push(row)
    if (piece.length < rowsAtOnce) return rows
  }
}

const read = async (
  sentenceOf: SentenceOf,
  work: Work,
  action: string,
  within: Within,
  query: AuditFilter & { limit?: number; format?: 'json' | 'jsonl' },
  slice: Slice,
  place: Within = within,
): Promise<Listed<AuditLog>> => {
  const { format, ...filter } = query
  const wanted = format === 'jsonl' && query.limit === undefined ? { ...slice, limit: linesAtMost } : slice
  const rows = await rowsInPieces(work, within, filter, wanted)
  const { cursor: _cursor, limit: _limit, ...asked } = query as Record<string, unknown>
  record(work, {
    action,
    resource_type: 'audit_log',
    resource_id: within.project_id ?? within.tenant_id,
    tenant_id: place.tenant_id,
    project_id: place.project_id,
    metadata: { filter: asked, rows: Math.min(rows.length, wanted.limit) },
  })
  const { items, after } = listed(rows, wanted, ({ id }) => id)
  const told = items.map((row): AuditLog => ({ ...row, sentence: sentenceOf(row) }))
  return format === 'jsonl' ? new Lines(told, after) : { items: told, after }
}

export const listPlatformAuditLogs =
  (sentenceOf: SentenceOf): Answering<typeof OfPlatform> =>
  async (work, { query: { tenant_id, ...query }, slice }) => {
    await authorize(work, 'platform.audit.read', platformKind, thePlatform)
    // Recorded where the tenant can see it; of one that does not exist there is no record to put it in but the platform's.
    const known = tenant_id === undefined ? undefined : await work.tx.maybe(findOrganization(tenant_id))
    const place = { tenant_id: known?.id ?? null, project_id: null }
    return read(sentenceOf, work, 'audit_log.list_all', { tenant_id: tenant_id ?? null, project_id: null }, query, slice, place)
  }

export const listOrganizationAuditLogs =
  (sentenceOf: SentenceOf): Answering<typeof OfOrganization> =>
  async (work, { params, query, slice }) => {
    const { id } = await authorize(work, 'tenant.audit.read', organizationKind, await work.tx.maybe(findOrganization(params.org_id)))
    return read(sentenceOf, work, 'audit_log.list_of_organization', { tenant_id: id, project_id: null }, query, slice)
  }

export const listProjectAuditLogs =
  (sentenceOf: SentenceOf): Answering<typeof OfProject> =>
  async (work, { params, query, slice }) => {
    const { id, org_id } = await authorize(work, 'project.audit.read', projectKind, await work.tx.maybe(findProject(params.project_id)))
    return read(sentenceOf, work, 'audit_log.list_of_project', { tenant_id: org_id, project_id: id }, query, slice)
  }
