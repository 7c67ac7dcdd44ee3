import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { ownerRoleOf, roleIdOf } from './catalogue.ts'
import { platformHolders } from './platform-queries.ts'

/** Who administers the platform now; whoever asks holds its lock. */
export const superadmins = async (work: Work): Promise<readonly string[]> =>
  (await work.tx.many(platformHolders(roleIdOf(ownerRoleOf.platform)))).map(({ id }) => id)

/** Does something after which the platform's roles are judged differently, and refuses it if that leaves nobody of those there were. */
export const requireSuperadminStays = async <T>(
  work: Work,
  code: 'role_not_assignable' | 'policy_out_of_bounds',
  act: () => Promise<T>,
): Promise<T> => {
  const before = await superadmins(work)
  const done = await act()
  if (before.length > 0 && (await superadmins(work)).length === 0) throw new Problem(code, { detail: 'last_superadmin' })
  return done
}
