import { type AuditFilter, AuditLog } from '@gatehouse/contract/audit-logs'
import { Exactly } from '@gatehouse/contract/shapes'
import type { Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'

const { sentence: _sentence, ...kept } = AuditLog.properties
const Row = Exactly(kept)
export type AuditRow = Static<typeof Row>

/** Which rows at all, before any filter of the caller's. */
export interface Within {
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** Newest first; ids sort by the time they were minted. What a node is called is the platform's affair: tenants know it by its id. */
const rowsOf = (opening: ReturnType<typeof sqlPart>) => (within: Within, filter: AuditFilter, before: string | null, limit: number) =>
  sql(Row)`
  ${opening} select a.id, a.seq, a.occurred_at, a.correlation_id, a.actor_type, a.actor_id, coalesce(u.username, s.slug, n.name, r.display_name) as actor_name, a.credential_id, a.jti,
         a.platform_role, a.tenant_id, a.project_id, a.resource_type, a.resource_id, a.resource_name, a.action, a.result, a.reason_code, a.severity, a.metadata, encode(a.hash, 'hex') as hash
    from audit_logs a left join users u on a.actor_type = 'user' and u.id::text = a.actor_id
      left join service_accounts s on s.id = case when a.actor_type = 'service_account' then a.actor_id::uuid end
      left join shared_app_runtimes r on r.id = case when a.actor_type = 'shared_runtime_operator' then a.actor_id::uuid end
      left join nodes n on n.id = case when a.actor_type = 'node_agent' then a.actor_id::uuid end
                       and ${within.tenant_id}::uuid is null and ${within.project_id}::uuid is null
   where (${within.tenant_id}::uuid is null or a.tenant_id = ${within.tenant_id}::uuid)
     and (${within.project_id}::uuid is null or a.project_id = ${within.project_id}::uuid)
     and (${before}::uuid is null or a.id < ${before}::uuid)
     and (${filter.from ?? null}::timestamptz is null or a.occurred_at >= ${filter.from ?? null}::timestamptz)
     and (${filter.to ?? null}::timestamptz is null or a.occurred_at < ${filter.to ?? null}::timestamptz)
     and (${filter.actor_type ?? null}::text is null or a.actor_type = ${filter.actor_type ?? null}::text)
     and (${filter.actor_id ?? null}::text is null or a.actor_id = ${filter.actor_id ?? null}::text)
     and (${filter.credential_id ?? null}::text is null or a.credential_id = ${filter.credential_id ?? null}::text)
     and (${filter.jti ?? null}::text is null or a.jti = ${filter.jti ?? null}::text)
     and (${filter.action ?? null}::text is null or a.action = ${filter.action ?? null}::text)
     and (${filter.resource_type ?? null}::text is null or a.resource_type = ${filter.resource_type ?? null}::text)
     and (${filter.resource_id ?? null}::text is null or a.resource_id = ${filter.resource_id ?? null}::text)
     and (${filter.result ?? null}::text is null or a.result = ${filter.result ?? null}::text)
     and (${filter.severity ?? null}::text is null or a.severity = ${filter.severity ?? null}::text)
     and (${filter.correlation_id ?? null}::text is null or a.correlation_id = ${filter.correlation_id ?? null}::text)
   order by a.id desc limit ${limit}`

export const auditRows = rowsOf(sqlPart(''))

/** The same to be read in pieces: all are of the moment in which it is opened, also where each statement sees a moment of its own. */
export const openAuditRows = rowsOf(sqlPart('declare audit_rows_wanted no scroll cursor for'))

/** So many rows are read at a time: between two pieces others have the event loop. */
export const rowsAtOnce = 100
export const nextAuditRows = () => sql(Row)`fetch forward ${sqlPart(`${rowsAtOnce}`)} from audit_rows_wanted`
