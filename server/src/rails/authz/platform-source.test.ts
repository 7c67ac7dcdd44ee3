import { describe, expect, test } from 'vitest'
import { type BuiltinRoleName, roleIdOf } from './catalogue.ts'
import { mismatchOf, platformRolesOf } from './platform-source.ts'
import type { BoundRole } from './standing-queries.ts'
import { boundRole } from './testing/bound-role.ts'

// By hand: what stands in the two places, what counts by each source, and whether the two agree on who is a superadmin.
const table = `
  bound  column  ever | users_role  transition  bindings  unreadable | agreed
  -      user    no   | -           -           -         -          | yes
  -      user    yes  | -           -           -         -          | yes
  -      admin   no   | column      column      -         -          | no
  -      admin   yes  | column      -           -         -          | no
  super  user    yes  | -           super       super     -          | no
  super  admin   yes  | column      super       super     -          | yes
  ops    user    yes  | -           ops         ops       -          | yes
  ops    admin   yes  | column      ops         ops       -          | no
  both   user    yes  | -           both        both      -          | no
  both   admin   yes  | column      both        both      -          | yes`

const role = (name: BuiltinRoleName, binding_id: string | null = 'b') => boundRole(name, { binding_id, role_id: roleIdOf(name) })
const [superadmin, ops, column] = [role('platform_superadmin'), role('platform_ops'), role('platform_superadmin', null)]
const spelt: Readonly<Record<string, readonly BoundRole[]>> = {
  ...{ '-': [], super: [superadmin], ops: [ops], both: [ops, superadmin], column: [column] },
}
const sources = { users_role: ['users_role'], transition: ['transition'], bindings: ['bindings'], unreadable: [null, 'Bindings', 7, []] }

const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.trim().split(/[ |]+/))

describe.each(rows)('bound to %s, by the column %s, ever bound: %s', (bound, by, ever, ...rest) => {
  const counting = rest.slice(0, 4)
  const platform_bindings = spelt[bound!]!
  const both = { platform_bindings, role_by_column: by === 'admin' ? column : null, was_ever_bound: ever === 'yes' }
  const found = Object.values(sources).map((values) => values.map((platform_role_source) => ({ ...both, platform_role_source })))

  test('RP-25 by each source what it has counts, and nothing where it cannot be read', () => {
    for (const [index, all] of found.entries())
      for (const each of all)
        expect([each.platform_role_source, platformRolesOf(each)]).toEqual([each.platform_role_source, spelt[counting[index]!]])
  })

  test('RP-25 where the two disagree, or have something to say that nobody hears, that is told', () => {
    const isNothing = bound === '-' && by === 'user'
    for (const [index, source] of (['users_role', 'transition', 'bindings', null] as const).entries())
      for (const each of found[index]!) {
        const isQuiet = source === null ? isNothing : rest[4] === 'yes'
        const told = { source, users_role: by, bound_roles: platform_bindings.map(({ name }) => name) }
        expect([each.platform_role_source, mismatchOf(each)]).toEqual([each.platform_role_source, isQuiet ? null : told])
      }
  })
})
