import type { AttributeName } from '@gatehouse/contract/conditions'
import type { ActorType } from '@gatehouse/contract/operation'

/**
 * The action registry: every key that can be asked about, in code, reviewed as code. What is not said here is not so: an action
 * is not open to override, not fit for service accounts and not a read unless its line says it.
 */
export type Tier = 'platform' | 'tenant' | 'project'
type Mark = 'override' | 'service_account' | 'read'

export interface ActionEntry {
  readonly tier: Tier
  readonly override_eligible: boolean
  readonly fit_for_service_accounts: boolean
  /** Still allowed in a suspended organization and an archived project. */
  readonly is_read: boolean
  /** What its requests say of themselves, beyond what every request says. */
  readonly carries: readonly AttributeName[]
}

const at = (tier: Tier, ...marks: Mark[]): ActionEntry => ({
  tier,
  override_eligible: marks.includes('override'),
  fit_for_service_accounts: marks.includes('service_account'),
  is_read: marks.includes('read'),
  carries: [],
})

/** What runs on machines can be told by region, model, size and flags; what is stored, by region and flags. */
const onMachines = (...marks: Mark[]): ActionEntry => ({ ...at('project', ...marks), carries: ['region', 'sku', 'gpus', 'flags'] })
const inStorage = (...marks: Mark[]): ActionEntry => ({ ...at('project', ...marks), carries: ['region', 'flags'] })

export const actions = {
  // Platform: no membership is needed.
  'platform.admin': at('platform', 'override'),
  'platform.audit.read': at('platform', 'override', 'read'),
  'platform.authz.evaluate': at('platform', 'override', 'read'),
  'platform.node.manage': at('platform', 'override'),
  'platform.node.probe': at('platform', 'override'),
  'platform.node.read': at('platform', 'override', 'read'),
  'platform.ops.read': at('platform', 'override', 'read'),
  'platform.ops.runbook.read': at('platform', 'override', 'read'),

  // Given by a relation to the resource, by a membership or by what class of actor somebody is, never by a role.
  'me.read': at('platform', 'read'),
  'me.invitation.accept': at('platform'),
  'me.ssh_key.manage': at('platform'),
  'me.ssh_key.read': at('platform', 'read'),
  'tenant.project.read_own': at('tenant', 'read'),
  'tenant.user.leave': at('tenant'),
  'project.member.leave': at('project'),
  'project.access_grant.read_own': at('project', 'read'),
  'project.access_grant.revoke_own': at('project'),

  // Tenant.
  'project.read': at('tenant', 'override', 'read'),
  'tenant.access_grant.manage': at('tenant', 'override'),
  'tenant.audit.read': at('tenant', 'override', 'read'),
  'tenant.billing.read': at('tenant', 'read'),
  'tenant.billing.write': at('tenant'),
  'tenant.invoice.read': at('tenant', 'read'),
  'tenant.policy.read': at('tenant', 'override', 'read'),
  'tenant.policy.write': at('tenant', 'override'),
  'tenant.project.appoint_owner': at('tenant', 'override'),
  'tenant.project.create': at('tenant', 'override'),
  'tenant.project.read': at('tenant', 'override', 'read'),
  'tenant.project.update': at('tenant', 'override'),
  'tenant.read': at('tenant', 'override', 'read'),
  'tenant.role.assign': at('tenant', 'override'),
  'tenant.role.assign_any': at('tenant', 'override'),
  'tenant.role.define': at('tenant', 'override'),
  'tenant.role.read': at('tenant', 'override', 'read'),
  'tenant.shared_runtime.manage': at('tenant', 'override'),
  'tenant.shared_runtime.read': at('tenant', 'override', 'read'),
  'tenant.update': at('tenant', 'override'),
  'tenant.user.invite': at('tenant', 'override'),
  'tenant.user.read': at('tenant', 'override', 'read'),
  'tenant.user.remove': at('tenant', 'override'),

  // Given to a class of machines, never by a role.
  'auth.token.introspect': at('project', 'read'),
  'auth.token.issue': at('project'),
  'auth.token.revoke_own': at('project'),
  'shared_runtime.allocation.read': at('tenant', 'read'),
  'shared_runtime.attach': at('tenant'),
  'shared_runtime.credential.deliver': at('tenant'),
  'shared_runtime.detach': at('tenant'),
  'shared_runtime.report': at('tenant'),
  'shared_runtime.token.issue': at('tenant'),
  'node.certificate.renew': at('platform'),
  'node.task.read': at('platform'),
  'node.task.report': at('platform'),

  // Project. What touches a customer's data or shell is never open to override.
  'allocation.create': onMachines('service_account'),
  'allocation.read': onMachines('service_account', 'read'),
  'allocation.release': onMachines('service_account'),
  'allocation.ssh_keys.write': onMachines(),
  'project.access_grant.manage': at('project', 'override'),
  'project.access_grant.read': at('project', 'override', 'read'),
  'project.audit.read': at('project', 'override', 'service_account', 'read'),
  'project.member.invite': at('project', 'override'),
  'project.member.read': at('project', 'override', 'service_account', 'read'),
  'project.member.remove': at('project', 'override'),
  'project.policy.read': at('project', 'override', 'service_account', 'read'),
  'project.role.assign': at('project', 'override'),
  'project.role.assign_any': at('project', 'override'),
  'project.role.define': at('project', 'override'),
  'project.role.read': at('project', 'override', 'service_account', 'read'),
  'project.service_account.key.create': at('project'),
  'project.service_account.manage': at('project', 'override'),
  'project.service_account.read': at('project', 'override', 'service_account', 'read'),
  'project.ssh_key.manage': at('project', 'service_account'),
  'project.ssh_key.read': at('project', 'override', 'service_account', 'read'),
  'storage.bucket.manage': inStorage('service_account'),
  'storage.credential.issue': inStorage('service_account'),
  'storage.credential.read': inStorage('service_account', 'read'),
  'storage.credential.revoke': inStorage(),
  'storage.grant.manage': inStorage(),
  'storage.mount_plan.read': inStorage('service_account', 'read'),
  'storage.read': inStorage('service_account', 'read'),
  'storage.write': inStorage('service_account'),
  'terminal.connect': onMachines('service_account'),
  'workload.manage': onMachines('service_account'),
  'workload.read': onMachines('service_account', 'read'),
  'workload.token.issue': onMachines('service_account'),
} as const satisfies Record<string, ActionEntry>

export type Action = keyof typeof actions

/** Reserved: no action, no prefix, consulted only in the override step. */
export const overridePermission = 'authorization.override.all'
export type PermissionKey = Action | typeof overridePermission

export const isAction = (key: string): key is Action => Object.hasOwn(actions, key)
export const isFitForServiceAccounts = (key: string): boolean => isAction(key) && actions[key].fit_for_service_accounts

/** A relation of the actor to the resource gives these keys, for that resource only. */
export const relationKeys: Readonly<Record<Relation, ReadonlySet<Action>>> = {
  self: new Set<Action>(['me.read', 'me.ssh_key.read', 'me.ssh_key.manage', 'tenant.user.leave', 'project.member.leave']),
  invitee: new Set<Action>(['me.invitation.accept']),
  allocation_owner: new Set<Action>(['project.access_grant.manage', 'project.access_grant.read', 'allocation.ssh_keys.write']),
  grantee: new Set<Action>(['project.access_grant.read_own', 'project.access_grant.revoke_own']),
}
export type Relation = 'self' | 'invitee' | 'allocation_owner' | 'grantee'

const ofNodes = ['node.certificate.renew', 'node.task.read', 'node.task.report'] as const satisfies readonly Action[]
const ofTokens = ['auth.token.introspect', 'auth.token.issue', 'auth.token.revoke_own'] as const satisfies readonly Action[]

/**
 * What a machine may do by being what it is, whatever roles say: ask about itself, turn its credential into a token, end its tokens, and
 * ask whether those of its tenant still count.
 */
export const classKeys: Readonly<Partial<Record<ActorType | 'system', ReadonlySet<Action>>>> = {
  service_account: new Set<Action>(['me.read', ...ofTokens]),
  node_agent: new Set<Action>(ofNodes),
  shared_runtime_operator: new Set<Action>(['shared_runtime.token.issue']),
}

/**
 * What the operator of a shared runtime may do to that runtime: the allowlist. Which operations these are, each operation says by its
 * actors.
 */
export const operatorKeys: ReadonlySet<Action> = new Set([
  'tenant.shared_runtime.read',
  'shared_runtime.report',
  'shared_runtime.credential.deliver',
  'shared_runtime.allocation.read',
])
/** What its tenant may let it do besides, by the words of the runtime's record. */
export const delegatedKeys: Readonly<Record<string, Action>> = { attach: 'shared_runtime.attach', detach: 'shared_runtime.detach' }

/** Belonging somewhere gives these keys there, whatever roles say. */
export const membershipKeys: Readonly<Partial<Record<Action, 'tenant' | 'project'>>> = {
  'tenant.project.read_own': 'tenant',
  'project.read': 'project',
}

/** An action's entry, and where belonging gives the action. */
export interface Registered extends ActionEntry {
  /** Belonging there gives it. */
  readonly given_to_members_of: 'tenant' | 'project' | undefined
}
const registered: ReadonlyMap<string, Registered> = new Map(
  Object.entries<ActionEntry>(actions).map(([key, entry]) => [key, { ...entry, given_to_members_of: membershipKeys[key as Action] }]),
)
/** Found in a Map: among so many, a member of an object is far slower to find. A decision looks once and passes it on. */
export const entryOf = (action: Action): Registered => registered.get(action)!

/** What belongs to the person and not to his work: no rule takes it away. */
const personal = new Set<Action>([
  'me.read',
  'me.invitation.accept',
  'me.ssh_key.manage',
  'me.ssh_key.read',
  'tenant.user.leave',
  'project.member.leave',
  'tenant.project.read_own',
])
/** What only the platform's rules reach: its own actions, and writing rules, or a rule could keep everybody from ending it. */
export const isForGlobalRules = (action: Action): boolean =>
  actions[action].tier === 'platform' || action === 'tenant.policy.read' || action === 'tenant.policy.write'

export const isConstrainable = (action: Action): boolean => !personal.has(action)

/**
 * Never in a custom role, whatever its tier. Who could give the first of these would have no ceiling; the others come by a
 * relation, by a membership or by what class of actor somebody is, and by no role.
 */
const reserved = new Set<Action>([
  'tenant.role.assign_any',
  'tenant.role.define',
  'tenant.project.appoint_owner',
  'project.role.assign_any',
  'project.role.define',
  'project.access_grant.read_own',
  'project.access_grant.revoke_own',
  'shared_runtime.allocation.read',
  'shared_runtime.attach',
  'shared_runtime.credential.deliver',
  'shared_runtime.detach',
  'shared_runtime.report',
  'shared_runtime.token.issue',
  ...ofTokens,
  ...personal,
])
export const isGrantable = (key: string, tier: Tier): key is Action =>
  isAction(key) && tier !== 'platform' && actions[key].tier === tier && !reserved.has(key)
