import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

export const projectInTenant = (project_id: string, tenant_id: string) => sql(Exactly({ id: Type.String() }))`
  select id from projects where id = ${project_id} and org_id = ${tenant_id}`
