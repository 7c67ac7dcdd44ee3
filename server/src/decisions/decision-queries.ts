import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

/** In which tenant each of these projects lies. */
export const tenantsOfProjects = (project_ids: readonly string[]) => sql(Exactly({ id: Type.String(), org_id: Type.String() }))`
  select id, org_id from projects where id = any(${project_ids}::uuid[])`

/** A person, and an allocation or a grant on one that is said to lie in a project. */
export interface Related {
  readonly type: string
  readonly id: string
  readonly user_id: string
  readonly project_id: string
}

const Relations = Exactly({ n: Type.Integer(), is_owner: Type.Boolean(), is_grantee: Type.Boolean() })

/** How people stand to allocations, or to grants on them, where these lie in the project that is named; as their own verbs see it. */
export const relationsTo = (asked: readonly Related[]) => sql(Relations)`
  select k.n::int as n, coalesce(a.owner_user_id = k.user_id, false) as is_owner,
         exists (select from allocation_access_grants g where g.allocation_id = a.id and g.grantee_user_id = k.user_id
                    and (k.type = 'allocation' or g.id = k.id)) as is_grantee
    from unnest(${asked.map(({ type }) => type)}::text[], ${asked.map(({ id }) => id)}::uuid[], ${asked.map(({ user_id }) => user_id)}::uuid[],
                ${asked.map(({ project_id }) => project_id)}::uuid[]) with ordinality as k (type, id, user_id, project_id, n)
    left join allocation_access_grants given on k.type = 'access_grant' and given.id = k.id
    join allocations a on a.project_id = k.project_id and a.id = case k.type when 'access_grant' then given.allocation_id else k.id end`
