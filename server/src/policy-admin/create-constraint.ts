import type { Constraint, createPlatformConstraint as Op } from '@gatehouse/contract/constraints'
import type { Input } from '@gatehouse/contract/operation'
import type { Verb } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { authorizeWrite, type ScopeParams } from './policy-scope.ts'
import { requireSound, writeConstraintVersion } from './write-constraint-version.ts'

export const createConstraint: Verb<ScopeParams, unknown, Input<typeof Op>['body'], Constraint> = async (work, { params, body }) => {
  const scope = await authorizeWrite(work, 'policy_constraint', params)
  const {
    key,
    actions,
    condition,
    description = null,
    time_zone = 'UTC',
    is_locked = scope.scope_type === 'global',
    state = 'active',
    reason = null,
  } = body
  requireSound({ actions, condition, time_zone }, scope)
  return writeConstraintVersion(work, scope, 'policy.constraint.create', {
    id: newId('constraint'),
    version: 1,
    ...{ key, description, actions, condition, time_zone, is_locked, state, reason },
  })
}
