import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleIdOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import type { Verb } from '#rails/http/answer.ts'
import { projectHolders, tenantHolders } from './binding-queries.ts'
import { requireOwnerMayGo } from './end-bindings.ts'
import { endBinding, findBinding, principalOfBinding } from './role-binding-queries.ts'
import { authorizeAssign, recordedIn, type ScopeParams } from './role-scope.ts'

/** Ending is bounded differently from giving: any role of the tier, but an owner's only by an owner or the platform. */
export const endRoleBinding: Verb<ScopeParams & { readonly binding_id: string }, unknown, { reason?: string }, unknown> = async (
  work,
  { params, body },
) => {
  const whose = params.project_id === undefined ? undefined : await work.tx.maybe(principalOfBinding(params.project_id, params.binding_id))
  const scope = await authorizeAssign(work, params, params.binding_id, whose?.principal_type)
  const binding = await work.tx.maybe(findBinding(scope, params.binding_id))
  if (!binding) throw new Problem('binding_not_found')
  const reason = body.reason ?? 'ended'
  if (binding.role_id === roleIdOf(ownerRoleOf[scope.tier])) {
    const version = roleVersionIdOf(ownerRoleOf[scope.tier])
    const owners = await work.tx.many(scope.tier === 'tenant' ? tenantHolders(scope.id, version) : projectHolders(scope.id, version))
    requireOwnerMayGo(work, authorityOf(scope), owners, binding.principal_id, `${scope.tier}.role.assign_any`)
  }
  await work.tx.one(endBinding(scope, binding.id, work.actor.id, reason, work.now))
  record(work, {
    action: 'role_binding.end',
    resource_type: 'role_binding',
    resource_id: binding.id,
    ...recordedIn(scope),
    metadata: {
      principal_type: binding.principal_type,
      principal_id: binding.principal_id,
      role_id: binding.role_id,
      role_name: binding.role_name,
      reason,
    },
  })
}
