import type { listOrganizations as Op } from '@gatehouse/contract/organizations'
import { authorityOf, authorize, authorizedAmong } from '../authz/authorize.ts'
import { hasOverride } from '../authz/decide.ts'
import { selfKind } from '../authz/kind.ts'
import { type Answering, listed } from '../http/answer.ts'
import { organizationKind } from './organization.ts'
import { allOrganizations, organizationsOf } from './organization-queries.ts'

/** Exactly those that a single read would show: candidates come from memberships (or, with override, from all), the engine judges each. */
export const listOrganizations: Answering<typeof Op> = async (work, { slice }) => {
  const self = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  const isOverride = hasOverride(authorityOf(self).facts)
  const shown = []
  let after = slice.after
  // A page may hold rows that the engine refuses; go on until the page is full or there is nothing more.
  while (shown.length <= slice.limit) {
    const rows = await work.tx.many(
      isOverride ? allOrganizations(after, slice.limit + 1) : organizationsOf(work.actor.id, after, slice.limit + 1),
    )
    shown.push(...(await authorizedAmong(work, 'tenant.read', organizationKind, rows)))
    if (rows.length <= slice.limit) break
    after = rows.at(-1)!.id
  }
  return listed(shown, slice, ({ id }) => id)
}
