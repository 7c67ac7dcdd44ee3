import type { Constraint } from '@gatehouse/contract/constraints'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import type { Verb } from '#rails/http/answer.ts'
import { currentConstraint } from './constraint-version-queries.ts'
import { authorizeRead, type PolicyScope, type ScopeParams } from './policy-scope.ts'

export interface ConstraintParams extends ScopeParams {
  readonly constraint_id: string
}

/** One of another scope is not there either, whoever may read that scope. */
export const constraintAt = async (work: Work, scope: PolicyScope, { constraint_id }: ConstraintParams): Promise<Constraint> => {
  const constraint = await work.tx.maybe(currentConstraint(scope, constraint_id))
  if (!constraint) throw new Problem('constraint_not_found')
  return constraint
}

export const readConstraint: Verb<ConstraintParams, unknown, unknown, Constraint> = async (work, { params }) =>
  constraintAt(work, await authorizeRead(work, 'policy_constraint', params, params.constraint_id), params)
