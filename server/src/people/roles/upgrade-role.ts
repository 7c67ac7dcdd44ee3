import type { Input, Reply } from '@gatehouse/contract/operation'
import type { upgradeOrganizationRole } from '@gatehouse/contract/role-upgrades'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authority, authorityOf } from '#rails/authz/authorize.ts'
import { requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Verb } from '#rails/http/answer.ts'
import { requireWithinCeiling } from './ceiling.ts'
import { requireNoGrantToOwnMachine } from './own-machines.ts'
import { endBindingsForUpgrade, insertUpgradedBindings } from './role-binding-queries.ts'
import { lockRole } from './role-queries.ts'
import { authorizeDefine, recordedIn, type ScopeParams } from './role-scope.ts'
import { planUpgrade, type UpgradePlan } from './upgrade-plan.ts'

type OfRole = ScopeParams & { readonly role_id: string }
type Body = Input<typeof upgradeOrganizationRole>['body']
type Upgraded = Verb<OfRole, unknown, Body, Reply<typeof upgradeOrganizationRole>>

/**
 * Nobody moves a role beyond his own authority. What override moves gives its own user nothing new, whether or not another of
 * his roles has it now: that one may end tomorrow.
 */
const requireAuthority = async (
  work: Work,
  authority: Authority,
  tier: 'tenant' | 'project',
  { from, to, preview }: UpgradePlan,
): Promise<Authority> => {
  const judged = requireWithinCeiling(authority, tier, to.permissions)
  const isRicher = to.permissions.some((key) => !from.permissions.includes(key))
  if (isRicher) for (const { principal_id } of preview.changes) requireNoSelfGrant(work, judged, principal_id)
  const machines = preview.changes.filter(({ principal_type }) => principal_type === 'service_account')
  if (isRicher)
    await requireNoGrantToOwnMachine(
      work,
      judged,
      machines.map(({ principal_id }) => principal_id),
    )
  return judged
}

export const upgradeRole: Upgraded = async (work, { params, body }) => {
  const scope = await authorizeDefine(work, params, params.role_id)
  const role = await work.tx.maybe(lockRole(scope, params.role_id))
  const plan = await planUpgrade(work, scope, role, body)
  const { preview, to } = plan
  const authority = await requireAuthority(work, authorityOf(scope), scope.tier, plan)
  if (preview.preview_hash !== body.preview_hash)
    throw new Problem('version_conflict', { detail: 'preview_outdated', version: role!.version })

  const ended = preview.changes.map(({ binding_id }) => binding_id)
  const made = ended.map(() => newId('binding'))
  await work.tx.many(endBindingsForUpgrade(scope, ended, work.actor.id, work.now))
  const moved = (await work.tx.many(insertUpgradedBindings(scope, ended, made, to.id, work.actor.id, work.now))).length
  record(work, {
    action: 'role.upgrade',
    resource_type: 'role',
    resource_id: preview.role_id,
    ...recordedIn(scope, authority.is_override),
    metadata: {
      role_id: preview.role_id,
      name: role!.name,
      from_version: preview.from_version,
      to_version: preview.to_version,
      moved,
      bindings: ended.map((from, index) => ({ from, to: made[index] })),
      preview_hash: preview.preview_hash,
      reason: body.reason,
    },
  })
  return { moved }
}
