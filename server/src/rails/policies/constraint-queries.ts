import type { Condition } from '@gatehouse/contract/conditions'
import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

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
const ScopedRule = Exactly({ ...Rule.properties, scope_id: Nullable(Type.String()) })

/** The current rules of the platform, which are part of every chain, of these tenants and of these projects. */
export const rulesOf = (tenant_ids: readonly string[], project_ids: readonly string[]) => sql(ScopedRule)`
  select constraint_id, version, key, scope_type, actions, condition, time_zone, is_locked, state, null as scope_id
    from policy_constraints where replaced_at is null and scope_type = 'global'
  union all
  select constraint_id, version, key, scope_type, actions, condition, time_zone, is_locked, state, tenant_id
    from policy_constraints where replaced_at is null and tenant_id = any(${tenant_ids}::uuid[])
  union all
  select constraint_id, version, key, scope_type, actions, condition, time_zone, is_locked, state, project_id
    from policy_constraints where replaced_at is null and project_id = any(${project_ids}::uuid[])`
