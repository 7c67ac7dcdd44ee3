import { expect, test } from 'vitest'
import { operations } from '../../contract/src/operations.ts'
import { builtinRoleNames, builtinRoles } from '../../server/src/rails/authz/catalogue.ts'

/** Keys of the baseline that no operation asks about for good reason: other products do, through the decision API. */
const staged = ['tenant.billing.read', 'tenant.billing.write', 'tenant.invoice.read', 'terminal.connect']
/** Until buckets are served here. */
const until_storage = ['storage.read', 'storage.write']
/** No action: it is consulted in the override step alone. */
const reserved = ['authorization.override.all']

test('RP-04 baseline: every key of a built-in role → guards an operation, or is one of those that are staged', () => {
  const guarded = new Set(operations.flatMap(({ actions }) => actions))
  const baseline = new Set<string>(builtinRoleNames.flatMap((name) => [...builtinRoles[name].baseline]))
  const unguarded = [...baseline].filter((key) => !guarded.has(key)).sort()
  expect(unguarded).toEqual([...staged, ...until_storage, ...reserved].sort())
})
