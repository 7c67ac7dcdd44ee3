import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { superadmins } from '#rails/authz/superadmins.ts'

/** The platform is never left without somebody who can administer it. */
export const requireAnotherSuperadmin = async (work: Work, user_id: string): Promise<void> => {
  const holders = await superadmins(work)
  if (holders.includes(user_id) && holders.length === 1) throw new Problem('last_owner')
}
