import Type, { type Static, type TProperties } from 'typebox'
import { operation } from './operation.ts'
import type { ProblemCode } from './problems.ts'
import { inOrganization, inProject } from './roles.ts'
import { Exactly, Id, Named, OneOf, Reason } from './shapes.ts'

const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })
const PreviewHash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  minLength: 64,
  maxLength: 64,
  description: 'Of everything that the preview rests on; it is no longer the same once any of it has moved.',
})
const between = { from_version: Version, to_version: Version }

const UpgradeChange = Exactly({
  binding_id: Id('binding'),
  principal_type: OneOf(['user', 'service_account']),
  principal_id: Id('principal'),
  gains: Type.Array(Type.String(), { description: 'What the principal may do in this scope only after it.' }),
  loses: Type.Array(Type.String(), { description: 'What the principal may do in this scope only before it.' }),
})
export type UpgradeChange = Static<typeof UpgradeChange>

export const UpgradePreview = Named('UpgradePreview', {
  role_id: Id('role'),
  ...between,
  bindings: Type.Integer({ description: 'How many bindings would move.' }),
  changes: Type.Array(UpgradeChange, { description: 'One for each binding, with what all roles of its principal come to.' }),
  preview_hash: PreviewHash,
})
export type UpgradePreview = Static<typeof UpgradePreview>

interface UpgradeScope<P extends TProperties, D extends string> {
  readonly name: string
  readonly path: string
  readonly params: P
  readonly define: D
  readonly missing: ProblemCode
}

const refusals = ['role_not_found', 'role_immutable', 'role_not_assignable', 'state_conflict'] as const satisfies ProblemCode[]

const previewIn = <P extends TProperties, D extends string>({ name, path, params, define, missing }: UpgradeScope<P, D>) =>
  operation({
    id: `role.preview_upgrade_${name}`,
    method: 'POST',
    path: `${path}/roles/:role_id/bulk-upgrade/preview`,
    summary: 'Say who would gain and lose what if every binding on one version of a role moved to another. Nothing changes.',
    actors: ['user'],
    action: define,
    effect: 'read',
    params: { ...params, role_id: Id('role') },
    body: Exactly(between),
    reply: UpgradePreview,
    problems: [missing, ...refusals],
  })

const upgradeIn = <P extends TProperties, D extends string>({ name, path, params, define, missing }: UpgradeScope<P, D>) =>
  operation({
    id: `role.upgrade_${name}`,
    recorded_as: 'role.upgrade',
    method: 'POST',
    path: `${path}/roles/:role_id/bulk-upgrade`,
    summary: 'Move every binding on one version of a role to another, as it was previewed: all of them or none.',
    description: 'A binding keeps its end. Whatever has moved since the preview is a `version_conflict`: look again.',
    actors: ['user'],
    action: define,
    effect: 'change',
    params: { ...params, role_id: Id('role') },
    body: Exactly({ ...between, preview_hash: PreviewHash, reason: Reason }),
    reply: Exactly({ moved: Type.Integer({ description: 'How many bindings moved.' }) }),
    problems: [missing, ...refusals, 'version_conflict'],
  })

export const previewOrganizationUpgrade = previewIn(inOrganization)
export const previewProjectUpgrade = previewIn(inProject)
export const upgradeOrganizationRole = upgradeIn(inOrganization)
export const upgradeProjectRole = upgradeIn(inProject)
