import type { Constraint, createPlatformConstraint as Op } from '@gatehouse/contract/constraints'
import type { Input } from '@gatehouse/contract/operation'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Verb } from '#rails/http/answer.ts'
import { currentConstraints } from './constraint-version-queries.ts'
import { authorizeWrite, type ScopeParams } from './policy-scope.ts'
import { requireSound, writeConstraintVersion } from './write-constraint-version.ts'

/** Rules that one scope may have at a time. */
const most = 200

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
  // Each decision judges all rules of its chain: what is unbounded would make all of them slow.
  if ((await work.tx.many(currentConstraints(scope, null, most))).length === most) throw new Problem('state_conflict', { limit: most })
  requireSound({ actions, condition, time_zone }, scope)
  return writeConstraintVersion(work, scope, 'policy.constraint.create', {
    id: newId('constraint'),
    version: 1,
    ...{ key, description, actions, condition, time_zone, is_locked, state, reason },
  })
}
