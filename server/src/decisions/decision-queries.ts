import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

/** In which tenant each of these projects lies. */
export const tenantsOfProjects = (project_ids: readonly string[]) => sql(Exactly({ id: Type.String(), org_id: Type.String() }))`
  select id, org_id from projects where id = any(${project_ids}::uuid[])`
