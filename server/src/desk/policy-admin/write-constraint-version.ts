import type { Constraint } from '@gatehouse/contract/constraints'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type ConstraintDocument, faultsOfConstraint } from './constraint-document.ts'
import { insertVersion, type VersionWritten } from './constraint-version-queries.ts'
import { type PolicyScope, recordedAt, type WritableScope } from './policy-scope.ts'

export const requireSound = (document: ConstraintDocument, { scope_type }: PolicyScope): void => {
  const faults = faultsOfConstraint(document, scope_type)
  if (faults.length > 0) throw new Problem('validation_error', faults)
}

/** Writes a version and records it whole: what a rule said on a day is read from the record alone. */
export const writeConstraintVersion = async (
  work: Work,
  scope: WritableScope,
  action: string,
  written: VersionWritten,
): Promise<Constraint> => {
  const constraint = await work.tx.one(insertVersion(scope, written, work.actor.id, work.now))
  const { id, reason, created_at: _at, created_by: _by, tenant_id: _tenant, project_id: _project, scope_type, ...document } = constraint
  record(work, {
    action,
    resource_type: 'policy_constraint',
    resource_id: id,
    ...recordedAt(scope),
    metadata: { ...document, scope: scope_type, reason },
  })
  return constraint
}
