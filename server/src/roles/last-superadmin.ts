import { ownerRoleOf, roleIdOf } from '../authz/catalogue.ts'
import { Problem } from '../kernel/problem.ts'
import type { Work } from '../work/work.ts'
import { activePlatformHolders } from './binding-queries.ts'

/** The platform is never left without somebody who can administer it. */
export const requireAnotherSuperadmin = async (work: Work, user_id: string): Promise<void> => {
  const holders = (await work.tx.many(activePlatformHolders(roleIdOf(ownerRoleOf.platform)))).map(({ principal_id }) => principal_id)
  if (holders.includes(user_id) && holders.length === 1) throw new Problem('last_owner')
}
