import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

export const insertEvents = (rows: string) => sql(Exactly({ id: Type.String() }))`
  insert into audit_logs (id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id,
                          resource_type, resource_id, resource_name, action, result, reason_code, severity, metadata)
  select id, occurred_at, correlation_id, actor_type, actor_id, platform_role, tenant_id, project_id,
         resource_type, resource_id, resource_name, action, result, reason_code, severity, metadata
    from jsonb_populate_recordset(null::audit_logs, ${rows}::jsonb)
  returning id`
