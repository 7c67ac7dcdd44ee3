import { PolicyScopeType, PolicyValue } from '@gatehouse/contract/policies'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import type { PolicyScope, WritableScope } from './policy-scope.ts'

const Current = Exactly({ key: Type.String(), scope_type: PolicyScopeType, value: Type.Unknown(), version: Type.Integer() })
export type CurrentValue = Static<typeof Current>

/** What is set on the way from the platform to a scope: of one key, or of all. */
export const valuesUpTo = ({ org_id, project_id }: PolicyScope, key: string | null) => sql(Current)`
  select ${columns(Current)} from policy_values
   where replaced_at is null and (${key}::text is null or key = ${key}::text)
     and (scope_type = 'global' or tenant_id = ${org_id}::uuid or project_id = ${project_id}::uuid)`

export const endValue = (scope: WritableScope, key: string, replaced_by: string | null, now: string) => sql(Current)`
  update policy_values set replaced_at = ${now}, replaced_by = ${replaced_by}
   where key = ${key} and scope_type = ${scope.scope_type} and tenant_id is not distinct from ${scope.tenant_id}::uuid
     and project_id is not distinct from ${scope.project_id}::uuid and replaced_at is null
   returning ${columns(Current)}`

/** Counts on from the last version there was, also if that one has ended: a version names one value for ever. */
export const insertValue = (
  scope: WritableScope,
  { id, key, value, reason }: { id: string; key: string; value: string; reason: string | null },
  created_by: string | null,
  now: string,
) => sql(PolicyValue)`
  insert into policy_values (id, key, scope_type, tenant_id, project_id, value, version, created_at, created_by, reason)
  select ${id}, ${key}, ${scope.scope_type}, ${scope.tenant_id}::uuid, ${scope.project_id}::uuid, ${value}::jsonb, coalesce(max(version), 0) + 1,
         ${now}, ${created_by}, ${reason}
    from policy_values
   where key = ${key} and scope_type = ${scope.scope_type} and tenant_id is not distinct from ${scope.tenant_id}::uuid
     and project_id is not distinct from ${scope.project_id}::uuid
  returning ${columns(PolicyValue)}`
