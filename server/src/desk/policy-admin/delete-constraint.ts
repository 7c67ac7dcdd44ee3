import type { deletePlatformConstraint as Op } from '@gatehouse/contract/constraints'
import type { Input } from '@gatehouse/contract/operation'
import { record } from '#rails/audit/record.ts'
import type { Verb } from '#rails/http/answer.ts'
import { endVersion } from './constraint-version-queries.ts'
import { authorizeWrite, recordedAt } from './policy-scope.ts'
import { type ConstraintParams, constraintAt } from './read-constraint.ts'

export const deleteConstraint: Verb<ConstraintParams, unknown, Input<typeof Op>['body'], unknown> = async (work, { params, body }) => {
  const scope = await authorizeWrite(work, 'policy_constraint', params, params.constraint_id)
  const { id, key, version } = await constraintAt(work, scope, params)
  await work.tx.one(endVersion(scope, { id, version }, work.actor.id, work.now, body.reason))
  record(work, {
    action: 'policy.constraint.delete',
    resource_type: 'policy_constraint',
    resource_id: id,
    ...recordedAt(scope),
    metadata: { key, scope: scope.scope_type, version, reason: body.reason },
  })
}
