import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** Whose runtime an operator operates, where it has come without a token. */
export const tenantOfOperator = (shared_runtime_id: string) => sql(Exactly({ org_id: Type.String() }))`
  select org_id from shared_app_runtimes where id = ${shared_runtime_id}`

export const projectInTenant = (project_id: string, tenant_id: string) => sql(Exactly({ id: Type.String() }))`
  select id from projects where id = ${project_id} and org_id = ${tenant_id}`
