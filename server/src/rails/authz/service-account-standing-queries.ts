import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import { asMany } from './as-many.ts'
import { boundProjectRoles } from './bound-roles.ts'
import { StandingRow, versioned } from './standing-queries.ts'

const Row = Exactly({ n: Type.Integer(), home_tenant_id: Type.String(), home_project_id: Type.String(), ...StandingRow.properties })

/**
 * How each service account stands in each place: somewhere else than in its own project it is a stranger, and there too when its tenant is
 * gone. A deleted one has no row.
 */
export const serviceAccountStandingsOf = (
  account_ids: readonly string[],
  tenant_ids: readonly (string | null)[],
  project_ids: readonly (string | null)[],
) => sql(Row)`
  select
    place.n::int as n,
    s.id as actor_id,
    s.org_id as home_tenant_id,
    s.project_id as home_project_id,
    s.state <> 'active' as is_disabled,
    '[]'::jsonb as platform_bindings,
    null as role_by_column,
    false as was_ever_bound,
    null as platform_role_source,
    o.state as tenant_state,
    false as is_tenant_member,
    '[]'::jsonb as tenant_roles,
    p.org_id as project_tenant_id,
    p.state as project_state,
    o.id is not null and s.project_id is not distinct from p.id as is_project_member,
    coalesce((${versioned} ${boundProjectRoles('p.id', 's.id', 'service_account')}), '[]') as project_roles
    from (select * from unnest(${account_ids}::uuid[], ${tenant_ids}::uuid[], ${project_ids}::uuid[]) with ordinality ${asMany(account_ids)})
         as place (account_id, tenant_id, project_id, n)
    join service_accounts s on s.id = place.account_id and s.state <> 'deleted'
    left join organizations o on o.id = place.tenant_id and o.id = s.org_id and o.deleted_at is null
    left join projects p on p.id = place.project_id and p.org_id = place.tenant_id`
