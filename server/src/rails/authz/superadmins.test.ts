import { expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import type { Work } from '#ground/work/work.ts'
import { roleIdOf } from './catalogue.ts'
import { requireSuperadminStays, superadmins } from './superadmins.ts'

// Who they are by the tables is shown in `superadmins.db.test.ts`.

/** A work that finds these superadmins, first and then. */
const workOf = (...found: string[][]): Work => {
  const many = async ({ values, parse }: Statement<unknown>) => {
    expect(values).toContain(roleIdOf('platform_superadmin'))
    return (found.length > 1 ? found.shift()! : found[0]!).map((id) => parse({ id }))
  }
  return { tx: { many } } as unknown as Work
}

test('RP-20 those who have the highest role are asked for, by their ids', async () => {
  expect(await superadmins(workOf(['ada', 'otto']))).toEqual(['ada', 'otto'])
})

test.each([
  ['somebody stays', [['ada', 'otto'], ['otto']], true],
  ['somebody else comes', [['ada'], ['otto']], true],
  ['nobody was there before', [[], []], true],
  ['the last one goes', [['ada'], []], false],
])('RP-20 what is done stands where %s: %s', async (_name, found, stands) => {
  const done: string[] = []
  const act = async () => `done ${done.push('it')}`
  const doing = requireSuperadminStays(workOf(...found), 'policy_out_of_bounds', act)
  if (stands) expect(await doing).toBe('done 1')
  else await expect(doing).rejects.toMatchObject({ code: 'policy_out_of_bounds', details: { detail: 'last_superadmin' } })
  expect(done).toEqual(['it'])
})
