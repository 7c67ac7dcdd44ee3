import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'

/** Somebody, and a project or an organization that they name. */
export interface NamedPlace {
  readonly actor_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** Of an absent project its own id: no tenant has it. */
const homeId = sqlPart('coalesce(p.org_id, k.tenant_id, k.project_id)')

/** `is_inside`: they are of the tenant, and do not know of it because they are of the platform. */
const Known = Exactly({ n: Type.Integer(), tenant_id: Nullable(Type.String()), is_inside: Type.Boolean() })

/**
 * In which tenant each of these places lies, where the actor may know of it: somebody of the tenant, or of the platform. Of any other place
 * nothing is told, as of one that does not exist, so that both cost the same from here on. Here, too: an absent place is looked for in every
 * table by an id that nothing has, instead of not at all.
 */
export const tenantsKnown = (places: readonly NamedPlace[]) => sql(Known)`
  select k.n::int as n, o.id as tenant_id, i.is_inside
    from unnest(${places.map(({ actor_id }) => actor_id)}::uuid[], ${places.map(({ tenant_id }) => tenant_id)}::uuid[],
                ${places.map(({ project_id }) => project_id)}::uuid[]) with ordinality as k (actor_id, tenant_id, project_id, n)
    left join projects p on p.id = k.project_id
    left join organizations o on o.id = ${homeId}
    cross join lateral (select
         exists (select from tenant_memberships m where m.tenant_id = ${homeId} and m.user_id = k.actor_id and m.deleted_at is null)
      or exists (select from service_accounts s where s.id = k.actor_id and s.org_id = ${homeId})
      or exists (select from shared_app_runtimes r where r.id = k.actor_id and r.org_id = ${homeId}) as is_inside) i
   where i.is_inside
      or exists (select from users u where u.id = k.actor_id and u.role <> 'user')
      or exists (select from platform_role_bindings b where b.principal_type = 'user' and b.principal_id = k.actor_id and b.deleted_at is null)`

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
