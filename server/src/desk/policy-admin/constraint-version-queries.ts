import { Constraint, ConstraintVersion } from '@gatehouse/contract/constraints'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type TObject } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { PolicyScope, WritableScope } from './policy-scope.ts'

/** A row is one version; whoever asks means the constraint, so its id is told as `id`. */
const told = ({ properties: { id: _id, ...others } }: TObject) => sqlPart(`constraint_id as id, ${columns(Exactly(others)).text}`)

export const currentConstraints = (scope: PolicyScope, after: string | null, limit: number) => sql(Constraint)`
  select ${told(Constraint)} from policy_constraints
   where replaced_at is null and scope_type = ${scope.scope_type} and tenant_id is not distinct from ${scope.tenant_id}::uuid
     and project_id is not distinct from ${scope.project_id}::uuid and (${after}::uuid is null or constraint_id > ${after}::uuid)
   order by constraint_id limit ${limit}`

export const currentConstraint = (scope: PolicyScope, constraint_id: string) => sql(Constraint)`
  select ${told(Constraint)} from policy_constraints
   where constraint_id = ${constraint_id} and replaced_at is null and scope_type = ${scope.scope_type}
     and tenant_id is not distinct from ${scope.tenant_id}::uuid and project_id is not distinct from ${scope.project_id}::uuid`

/** Newest first. */
export const versionsOfConstraint = (scope: PolicyScope, constraint_id: string, before: number | null, limit: number) => sql(
  ConstraintVersion,
)`
  select ${told(ConstraintVersion)} from policy_constraints
   where constraint_id = ${constraint_id} and scope_type = ${scope.scope_type} and tenant_id is not distinct from ${scope.tenant_id}::uuid
     and project_id is not distinct from ${scope.project_id}::uuid and (${before}::int is null or version < ${before}::int)
   order by version desc limit ${limit}`

export type VersionWritten = Pick<
  Constraint,
  'id' | 'version' | 'key' | 'description' | 'actions' | 'condition' | 'time_zone' | 'is_locked' | 'state' | 'reason'
>

export const insertVersion = (scope: WritableScope, written: VersionWritten, created_by: string, now: string) => sql(Constraint)`
  insert into policy_constraints (constraint_id, version, key, scope_type, tenant_id, project_id, description, actions, condition, time_zone,
                                  is_locked, state, created_at, created_by, reason)
  values (${written.id}, ${written.version}, ${written.key}, ${scope.scope_type}, ${scope.tenant_id}, ${scope.project_id}, ${written.description},
          ${written.actions}, ${JSON.stringify(written.condition)}::jsonb, ${written.time_zone}, ${written.is_locked}, ${written.state}, ${now}, ${created_by},
          ${written.reason})
  returning ${told(Constraint)}`

/** Ends the current version: another one follows, or the reason says why none does. */
export const endVersion = (
  scope: WritableScope,
  { id, version }: Pick<Constraint, 'id' | 'version'>,
  replaced_by: string,
  now: string,
  delete_reason: string | null,
) => sql(Exactly({ version: Type.Integer() }))`
  update policy_constraints set replaced_at = ${now}, replaced_by = ${replaced_by}, delete_reason = ${delete_reason}
   where constraint_id = ${id} and version = ${version} and replaced_at is null and scope_type = ${scope.scope_type}
   returning version`
