import { Exactly, OneOf } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'

/** The current values of a key on the way from the platform to a project. */
export const currentValues = (key: string, tenant_id: string | null, project_id: string | null) => sql(
  Exactly({ scope_type: OneOf(['global', 'tenant', 'project']), value: Type.Unknown() }),
)`
  select scope_type, value from policy_values
   where key = ${key} and replaced_at is null
     and (scope_type = 'global' or tenant_id = ${tenant_id}::uuid or project_id = ${project_id}::uuid)`

/** The same of several keys at once. */
export const currentValuesOf = (keys: readonly string[], tenant_id: string | null, project_id: string | null) => sql(
  Exactly({ key: Type.String(), scope_type: OneOf(['global', 'tenant', 'project']), value: Type.Unknown() }),
)`
  select key, scope_type, value from policy_values
   where key = any(${keys}::text[]) and replaced_at is null
     and (scope_type = 'global' or tenant_id = ${tenant_id}::uuid or project_id = ${project_id}::uuid)`

/** What the platform's value of a key was, and until when; null: it still is. */
export const pastValues = (key: string) => sql(
  Exactly({ value: Type.Unknown(), created_at: Type.String(), replaced_at: Type.Union([Type.String(), Type.Null()]) }),
)`
  select value, created_at, replaced_at from policy_values where key = ${key} and scope_type = 'global'`
