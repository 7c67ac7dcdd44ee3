import type { Input } from '@gatehouse/contract/operation'
import type { previewOrganizationUpgrade, UpgradePreview } from '@gatehouse/contract/role-upgrades'
import type { Work } from '#ground/work/work.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import type { Verb } from '#rails/http/answer.ts'
import { findRole } from './role-queries.ts'
import { authorizeRead, type RoleScope, type ScopeParams } from './role-scope.ts'
import { planUpgrade } from './upgrade-plan.ts'

type OfRole = ScopeParams & { readonly role_id: string }

const kindOf = (role_id: string): Kind<RoleScope> => ({
  type: 'role',
  missing: 'role_not_found',
  placeOf: ({ org_id, project_id }) => ({ id: role_id, tenant_id: org_id, project_id, relations: [] }),
})

/** Who may do it may look first, and looking locks nothing. It tells who holds which role, so it takes the right to read them too. */
const authorizeLook = async (work: Work, params: OfRole) => {
  const scope = await authorizeRead(work, 'role', params, params.role_id)
  return authorize(work, `${scope.tier}.role.define`, kindOf(params.role_id), scope)
}

type Body = Input<typeof previewOrganizationUpgrade>['body']

export const previewUpgrade: Verb<OfRole, unknown, Body, UpgradePreview> = async (work, { params, body }) => {
  const scope = await authorizeLook(work, params)
  return (await planUpgrade(work, scope, await work.tx.maybe(findRole(scope, params.role_id)), body)).preview
}
