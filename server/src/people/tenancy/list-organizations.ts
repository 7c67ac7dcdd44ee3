import type { listOrganizations as Op } from '@gatehouse/contract/organizations'
import { authorityOf, authorize, authorizedAmong } from '#rails/authz/authorize.ts'
import { hasOverride } from '#rails/authz/decide.ts'
import { selfKind } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { seenIn } from '#rails/http/seen-page.ts'
import { organizationKind } from './organization.ts'
import { allOrganizations, organizationsOf } from './organization-queries.ts'

/** Exactly those that a single read would show: candidates come from memberships (or, with override, from all), the engine judges each. */
export const listOrganizations: Answering<typeof Op> = async (work, { slice }) => {
  const self = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  const isOverride = hasOverride(authorityOf(self).facts)
  const shown = await seenIn(
    slice,
    (after, limit) => work.tx.many(isOverride ? allOrganizations(after, limit) : organizationsOf(work.actor.id, after, limit)),
    (rows) => authorizedAmong(work, 'tenant.read', organizationKind, rows),
  )
  return listed(shown, slice, ({ id }) => id)
}
