import type { Constraint, updatePlatformConstraint as Op } from '@gatehouse/contract/constraints'
import type { Input } from '@gatehouse/contract/operation'
import { Problem } from '#ground/kernel/problem.ts'
import type { Verb } from '#rails/http/answer.ts'
import { endVersion } from './constraint-version-queries.ts'
import { authorizeWrite } from './policy-scope.ts'
import { type ConstraintParams, constraintAt } from './read-constraint.ts'
import { requireSound, writeConstraintVersion } from './write-constraint-version.ts'

export const updateConstraint: Verb<ConstraintParams, unknown, Input<typeof Op>['body'], Constraint> = async (work, { params, body }) => {
  const scope = await authorizeWrite(work, 'policy_constraint', params, params.constraint_id)
  const before = await constraintAt(work, scope, params)
  const { expected_version, ...changed } = body
  if (expected_version !== before.version) throw new Problem('version_conflict', { version: before.version })
  const after = { ...before, ...changed, version: before.version + 1 }
  // A rule whose action the registry has lost can still be switched off.
  if (body.actions || body.condition || body.time_zone) requireSound(after, scope)
  await work.tx.one(endVersion(scope, before, work.actor.id, work.now, null))
  return writeConstraintVersion(work, scope, 'policy.constraint.update', after)
}
