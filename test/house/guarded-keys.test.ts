import { expect, test } from 'vitest'
import { operations } from '../../contract/src/operations.ts'
import { stagedKeys } from '../../server/src/desk/decisions/staged-keys.ts'
import { builtinRoleNames, builtinRoles } from '../../server/src/rails/authz/catalogue.ts'

/** No action: it is consulted in the override step alone. */
const reserved = ['authorization.override.all']

test('RP-04 RP-32 baseline: every key of a built-in role → guards an operation, or is one of those that are staged, and not both', () => {
  const guarded = new Set(operations.flatMap(({ actions }) => actions))
  const baseline = new Set<string>(builtinRoleNames.flatMap((name) => [...builtinRoles[name].baseline]))
  const unguarded = [...baseline].filter((key) => !guarded.has(key)).sort()
  expect(unguarded).toEqual([...Object.keys(stagedKeys), ...reserved].sort())
})
