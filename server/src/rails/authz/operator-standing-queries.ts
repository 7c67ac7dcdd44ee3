import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'

const OperatorStandingRow = Exactly({
  actor_id: Type.String(),
  home_tenant_id: Type.String(),
  tenant_state: Nullable(Type.String()),
  project_state: Nullable(Type.String()),
  is_disabled: Type.Boolean(),
  is_live: Type.Boolean(),
  is_attached: Type.Boolean(),
  is_eligible: Type.Boolean(),
  delegated_actions: Type.Array(Type.String()),
})
export type OperatorStandingRow = Static<typeof OperatorStandingRow>

const Row = Exactly({ n: Type.Integer(), ...OperatorStandingRow.properties })

/**
 * How the operator of each runtime stands in each place. What belongs to another tenant than its runtime it does not know. A deleted
 * runtime has no row.
 */
export const operatorStandingsOf = (
  runtime_ids: readonly string[],
  tenant_ids: readonly (string | null)[],
  project_ids: readonly (string | null)[],
) => sql(Row)`
  select
    place.n::int as n,
    r.id as actor_id,
    r.org_id as home_tenant_id,
    o.state as tenant_state,
    p.state as project_state,
    r.state = 'disabled' as is_disabled,
    r.state <> 'disabled' and o.id is not null as is_live,
    a.id is not null as is_attached,
    p.id is not null and p.id = any(r.eligible_project_ids) as is_eligible,
    r.delegated_actions
    from unnest(${runtime_ids}::uuid[], ${tenant_ids}::uuid[], ${project_ids}::uuid[]) with ordinality as place (runtime_id, tenant_id, project_id, n)
    join shared_app_runtimes r on r.id = place.runtime_id and r.state <> 'deleted'
    left join organizations o on o.id = place.tenant_id and o.id = r.org_id and o.deleted_at is null
    left join projects p on p.id = place.project_id and p.org_id = o.id
    left join shared_runtime_attachments a on a.shared_runtime_id = r.id and a.project_id = p.id and a.detached_at is null`
