import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Given, inputOf } from '../../cases/decision-case.ts'
import { type Action, actions, overridePermission, type Tier } from '../../server/src/rails/authz/actions.ts'
import { type BuiltinRoleName, builtinRoleNames, builtinRoles, tierOf } from '../../server/src/rails/authz/catalogue.ts'
import { decide } from '../../server/src/rails/authz/decide.ts'
import { marks, permissionMatrixDocument } from './permission-matrix.ts'

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2, -2).split(' | '))
const [header, , ...rows] = linesOf(readFileSync(permissionMatrixDocument.path, 'utf8')) as [string[], string[], ...string[][]]
const cellOf = (action: string, role: string): string | undefined => rows.find(([name]) => name === `\`${action}\``)?.[header.indexOf(role)]
const names = Object.keys(actions) as Action[]

/** Somebody who belongs where his role is bound, and his like without the role. */
const given = (action: Action, tier: Tier, roles: BuiltinRoleName[]): Given => ({
  resource: { in: actions[action].tier },
  platform: tier === 'platform' ? { roles } : {},
  tenant: { is_member: tier !== 'platform', roles: tier === 'tenant' ? roles : [] },
  project: { is_member: tier === 'project', roles: tier === 'project' ? roles : [] },
})
const isGivenBy = (role: BuiltinRoleName, action: Action): boolean => {
  const [by, without] = [[role], []].map((roles) => decide(action, inputOf(action, given(action, tierOf(role), roles))).decision)
  return by === 'allow' && without === 'deny'
}

const isOwn = (role: BuiltinRoleName, action: Action): boolean => {
  const { baseline, extension } = builtinRoles[role]
  return [...baseline, ...extension].includes(action as never)
}
/** What the engine says that a role gives, in the words of the document. */
const expected = (role: BuiltinRoleName, action: Action): string => {
  const isOfTier = tierOf(role) === actions[action].tier
  if (!isGivenBy(role, action)) return isOfTier ? marks.nothing : marks.other_tier
  if (isOfTier && isOwn(role, action)) return marks.own
  const { includes } = builtinRoles[role] as { includes?: BuiltinRoleName }
  if (includes !== undefined && isOfTier && isGivenBy(includes, action)) return marks.included
  return marks.override
}

test('RP-01 RP-02 RP-03 DE-08 the matrix has every registered action as a row with its tier, each of the 13 roles as a column, and no empty cell', () => {
  expect(header.slice(4)).toEqual([...builtinRoleNames])
  expect(builtinRoleNames).toHaveLength(13)
  expect(rows.map(([name]) => name).sort()).toEqual([overridePermission, ...names].map((name) => `\`${name}\``).sort())
  for (const [name, tier] of rows.slice(1)) expect([name, tier]).toEqual([name, actions[name!.slice(1, -1) as Action].tier])
  for (const row of rows) expect([row[0], row.slice(4).filter((cell) => cell.trim() === '')]).toEqual([row[0], []])
})

test('RP-01 RP-02 RP-03 DE-06 each cell says what the engine says of somebody with that role and no other', () => {
  const faults = names.flatMap((action) =>
    builtinRoleNames.flatMap((role) => {
      const [told, judged] = [cellOf(action, role), expected(role, action)]
      return told === judged ? [] : [`${role} ${action}: ${told}, and is ${judged}`]
    }),
  )
  expect(faults).toEqual([])
  expect(builtinRoleNames.map((role) => cellOf(overridePermission, role)).filter((cell) => cell === marks.own)).toHaveLength(1)
})
