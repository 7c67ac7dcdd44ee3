import type { listPlatformConstraints as Current, listPlatformConstraintVersions as Versions } from '@gatehouse/contract/constraints'
import type { Reply } from '@gatehouse/contract/operation'
import { Problem } from '#ground/kernel/problem.ts'
import { listed, type Verb } from '#rails/http/answer.ts'
import { currentConstraints, versionsOfConstraint } from './constraint-version-queries.ts'
import { authorizeRead, type ScopeParams } from './policy-scope.ts'
import type { ConstraintParams } from './read-constraint.ts'

export const listConstraints: Verb<ScopeParams, unknown, unknown, Reply<typeof Current>> = async (work, { params, slice }) => {
  const scope = await authorizeRead(work, 'policy_constraint', params)
  const rows = await work.tx.many(currentConstraints(scope, slice.after, slice.limit + 1))
  return listed(rows, slice, ({ id }) => id)
}

export const listConstraintVersions: Verb<ConstraintParams, unknown, unknown, Reply<typeof Versions>> = async (work, { params, slice }) => {
  const scope = await authorizeRead(work, 'policy_constraint', params, params.constraint_id)
  const before = slice.after === null ? null : Number(slice.after)
  const rows = await work.tx.many(versionsOfConstraint(scope, params.constraint_id, before, slice.limit + 1))
  if (rows.length === 0) throw new Problem('constraint_not_found')
  return listed(rows, slice, ({ version }) => `${version}`)
}
