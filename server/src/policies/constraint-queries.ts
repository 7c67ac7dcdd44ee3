import type { Condition } from '@gatehouse/contract/conditions'
import { Exactly, OneOf } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '../db/statement.ts'

const Rule = Exactly({
  constraint_id: Type.String(),
  version: Type.Integer(),
  key: Type.String(),
  scope_type: OneOf(['global', 'tenant', 'project']),
  actions: Type.Array(Type.String()),
  // Whatever stands there: what the engine cannot read, it cannot judge, and so it denies.
  condition: Type.Unsafe<Condition>(Type.Object({})),
  time_zone: Type.String(),
  is_locked: Type.Boolean(),
  state: Type.String(),
})

/** The current rules of each chain global → tenant → project, in the order of the questions. */
export const chainsOf = (tenant_ids: readonly (string | null)[], project_ids: readonly (string | null)[]) => sql(
  Exactly({ rules: Type.Array(Rule) }),
)`
  select coalesce((
    select jsonb_agg(jsonb_build_object('constraint_id', c.constraint_id, 'version', c.version, 'key', c.key, 'scope_type', c.scope_type,
             'actions', c.actions, 'condition', c.condition, 'time_zone', c.time_zone, 'is_locked', c.is_locked, 'state', c.state))
      from (
        select * from policy_constraints g where g.replaced_at is null and g.scope_type = 'global'
        union all select * from policy_constraints t where t.replaced_at is null and t.tenant_id = place.tenant_id
        union all select * from policy_constraints p where p.replaced_at is null and p.project_id = place.project_id) c), '[]') as rules
    from unnest(${tenant_ids}::uuid[], ${project_ids}::uuid[]) with ordinality as place (tenant_id, project_id, n)
   order by place.n`
