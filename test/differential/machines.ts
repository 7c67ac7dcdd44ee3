import { addRule, anyTime, bind, bindPlatform, customRole, type Draft } from './draft.ts'
import { allKeys, builtinsOf, ofOwners } from './keys.ts'
import { type PerturbationName, perturbAs, ruleOver } from './perturb.ts'
import type { Question } from './question.ts'
import { attributesOf } from './rules.ts'

/** Worlds about service accounts and the operators of shared runtimes: like those of people, with what goes wrong for machines. */
export type MachineType = 'service_account' | 'shared_runtime_operator'
type Ground = Omit<Draft, 'question'> & { readonly ruled: number }
export type MachineWorld = (ground: Ground) => { questions: Question[] }

const asked = ({ chance, actor, tenant, project }: Ground, actor_type: MachineType, action: string): Question => ({
  ...{ id: 0, actor_type, actor_id: actor, action, resource_type: 'allocation', resource_id: null, tenant_id: tenant, project_id: project },
  ...{ attributes: attributesOf(chance, 0.04), token: null, elevations: [] },
  now: anyTime(chance),
})

/** What can go wrong with either, as with people. */
const shared: readonly PerturbationName[] = [
  ...(['deny', 'deny_all', 'replaced_rule', 'superadmin', 'operations', 'suspend', 'archive', 'delete_organization', 'elevate'] as const),
  ...(['hostile_attributes', 'other_action', 'other_place', 'nowhere', 'whole_resource'] as const),
]
const withRoles: readonly PerturbationName[] = [
  ...(['disable_role', 'disable_role', 'disable_role', 'disable_role', 'disable_role', 'disable_role', 'disable_role'] as const),
  ...(['delete_role', 'expire_binding', 'end_binding'] as const),
  ...(['bind_other_version', 'force_keys', 'foreign_role', 'other_tier_role', 'move_binding', 'another_builtin'] as const),
]

const listed = ({ chance }: Draft, action: string): string[] | null =>
  chance.is(0.2) ? null : chance.is(0.5) ? [...chance.some(allKeys, 0.05), action] : chance.some(allKeys, 0.05)

/** A person with the same id, who is a member and owns the tenant. */
const addNamesake = (draft: Draft): void => {
  const { rows, actor, tenant, project, builtins, id } = draft
  if (rows.users.length > 0) return
  rows.users.push({ id: actor, role: 'user', disabled_at: null })
  rows.tenant_memberships.push({ id: id(), tenant_id: tenant, user_id: actor, deleted_at: null })
  rows.project_memberships.push({ id: id(), project_id: project, user_id: actor, deleted_at: null })
  bind(draft, 'tenant', tenant, builtins.get('tenant_owner')!.version)
}

/** As the owner of an allocation, which no machine is. */
const asOwner = ({ question, chance }: Draft): void => {
  question.action = chance.one(ofOwners)
  question.relations = ['allocation_owner']
}

type Wrongs = Record<string, (draft: Draft) => void>
const goWrong = (draft: Draft, usual: readonly PerturbationName[], own: Wrongs): void => {
  const { chance } = draft
  for (let wrong = chance.one([0, 1, 1, 1, 1, 2, 2, 3]); wrong > 0; wrong -= 1)
    if (chance.is(0.15)) own.token!(draft)
    else if (chance.is(0.5)) chance.one(Object.values(own))(draft)
    else perturbAs(draft, chance.one(usual))
}

const complete = (draft: Draft, { ruled }: Ground, wrong: () => void): { questions: Question[] } => {
  const { chance, question } = draft
  if (chance.is(ruled)) ruleOver(draft)
  else {
    for (let rules = chance.one([0, 0, 0, 1, 1, 2]); rules > 0; rules -= 1) addRule(draft)
    wrong()
  }
  return { questions: chance.is(0.15) ? [question, { ...question, action: chance.one(allKeys), token: null }] : [question] }
}

const ofAccounts = [
  ...['allocation.create', 'allocation.read', 'storage.write', 'storage.bucket.manage', 'terminal.connect', 'project.role.read'],
  ...['project.policy.read', 'project.ssh_key.manage', 'workload.manage', 'project.service_account.read'],
]
const unfit = ['project.role.assign', 'project.member.invite', 'project.access_grant.read', 'project.service_account.key.create']
const byBeingOne = ['me.read', 'auth.token.issue', 'auth.token.introspect', 'auth.token.revoke_own', 'project.read']

const wrongOfAccounts: Wrongs = {
  disabled: ({ rows }) => {
    for (const account of rows.service_accounts) account.state = 'disabled'
  },
  deleted: ({ rows, chance }) => {
    if (chance.is(0.5)) rows.service_accounts.length = 0
    else for (const account of rows.service_accounts) account.state = 'deleted'
  },
  // It lives next door, or in another organization.
  lives_elsewhere: ({ rows, chance, elsewhere, tenant, id }) => {
    const isAbroad = chance.is(0.5)
    const project_id = isAbroad ? elsewhere.project : id()
    if (!isAbroad) rows.projects.push({ id: project_id, org_id: tenant, state: 'active' })
    for (const account of rows.service_accounts) Object.assign(account, { project_id, org_id: isAbroad ? elsewhere.tenant : tenant })
  },
  asked_elsewhere: ({ question, elsewhere, chance }) => {
    question.tenant_id = chance.is(0.5) ? elsewhere.tenant : null
    question.project_id = elsewhere.project
  },
  // As somebody's who happens to have the same id.
  bound_as_person: ({ rows }) => {
    for (const binding of rows.project_role_bindings) binding.principal_type = 'user'
  },
  member: addNamesake,
  token: (draft) => {
    const { rows, question } = draft
    const home = rows.service_accounts[0]
    if (home) question.token = { tenant_id: home.org_id, project_id: home.project_id, actions: listed(draft, question.action) }
  },
  unfit: ({ question, chance }) => {
    question.action = chance.one(unfit)
  },
  as_person: (draft) => {
    draft.question.actor_type = 'user'
    if (draft.chance.is(0.5)) addNamesake(draft)
  },
  as_owner: asOwner,
}

export const serviceAccountWorld: MachineWorld = (ground) => {
  const { chance, rows, actor, tenant, project, builtins } = ground
  const action = chance.one(chance.is(0.2) ? byBeingOne : chance.is(0.08) ? unfit : ofAccounts)
  const draft: Draft = { ...ground, tier: 'project', principal_type: 'service_account', question: asked(ground, 'service_account', action) }
  rows.service_accounts.push({ id: actor, org_id: tenant, project_id: project, state: 'active' })
  const given = () => customRole(draft, 'project', project, [action]).version
  bind(
    draft,
    'project',
    project,
    chance.is(0.5) ? given() : builtins.get(chance.is(0.7) ? 'project_owner' : chance.one(builtinsOf.project))!.version,
  )
  return complete(draft, ground, () => goWrong(draft, [...shared, ...withRoles], wrongOfAccounts))
}

const ofRuntime = [
  'tenant.shared_runtime.read',
  'shared_runtime.report',
  'shared_runtime.credential.deliver',
  'shared_runtime.allocation.read',
]
const delegable = ['shared_runtime.attach', 'shared_runtime.detach']

const wrongOfOperators: Wrongs = {
  disabled: ({ rows }) => {
    for (const runtime of rows.shared_app_runtimes) runtime.state = 'disabled'
  },
  deleted: ({ rows, chance }) => {
    if (chance.is(0.5)) rows.shared_app_runtimes.length = 0
    else for (const runtime of rows.shared_app_runtimes) runtime.state = 'deleted'
  },
  detached: ({ rows, question, chance }) => {
    if (chance.is(0.5)) rows.shared_runtime_attachments.length = 0
    else for (const attachment of rows.shared_runtime_attachments) attachment.detached_at = question.now
  },
  // What another runtime has attached.
  attached_to_another: ({ rows, id }) => {
    for (const attachment of rows.shared_runtime_attachments) attachment.shared_runtime_id = id()
  },
  not_eligible: ({ rows }) => {
    for (const runtime of rows.shared_app_runtimes) runtime.eligible_project_ids = []
  },
  not_delegated: ({ rows }) => {
    for (const runtime of rows.shared_app_runtimes) runtime.delegated_actions = []
  },
  other_runtime: ({ question, id }) => {
    question.resource_id = id()
  },
  no_runtime: ({ question, chance }) => {
    if (chance.is(0.5)) question.resource_type = 'allocation'
    else question.resource_id = null
  },
  lives_abroad: ({ rows, elsewhere }) => {
    for (const runtime of rows.shared_app_runtimes) runtime.org_id = elsewhere.tenant
  },
  // On its list, or attached, by the name of a project that is another tenant's.
  foreign_project: ({ rows, question, actor, tenant, elsewhere, id }) => {
    question.project_id = elsewhere.project
    question.tenant_id = elsewhere.tenant
    if (rows.shared_runtime_attachments.some(({ project_id }) => project_id === elsewhere.project)) return
    rows.shared_runtime_attachments.push({
      id: id(),
      shared_runtime_id: actor,
      org_id: tenant,
      project_id: elsewhere.project,
      detached_at: null,
    })
    for (const runtime of rows.shared_app_runtimes) runtime.eligible_project_ids.push(elsewhere.project)
  },
  token: (draft) => {
    const { rows, chance, question, elsewhere, actor, id } = draft
    const home = rows.shared_app_runtimes[0]
    question.token = {
      tenant_id: chance.is(0.1) ? null : chance.is(0.1) ? elsewhere.tenant : (home?.org_id ?? null),
      project_id: null,
      shared_runtime_id: chance.is(0.1) ? null : chance.is(0.1) ? id() : actor,
      actions: listed(draft, question.action),
    }
  },
  unlisted: ({ question, chance }) => {
    question.action = chance.one(['tenant.user.read', 'allocation.read', 'project.read', 'platform.ops.read', 'tenant.project.read_own'])
  },
  person: (draft) => {
    addNamesake(draft)
    bindPlatform(draft, 'platform_superadmin')
  },
  as_owner: asOwner,
}

export const operatorWorld: MachineWorld = (ground) => {
  const { chance, rows, actor, tenant, project, id } = ground
  const action = chance.one(chance.is(0.12) ? ['shared_runtime.token.issue'] : chance.is(0.4) ? delegable : ofRuntime)
  const question = { ...asked(ground, 'shared_runtime_operator', action), resource_type: 'shared_runtime', resource_id: actor }
  if (chance.is(0.4) && action !== 'shared_runtime.attach') question.project_id = null
  const draft: Draft = { ...ground, tier: 'tenant', question }
  rows.shared_app_runtimes.push({
    ...{ id: actor, org_id: tenant, state: chance.one(['running', 'degraded']) },
    delegated_actions: chance.is(0.8) ? ['attach', 'detach'] : chance.some(['attach', 'detach'], 0.5),
    eligible_project_ids: chance.is(0.8) ? [project] : [],
  })
  if (chance.is(0.85))
    rows.shared_runtime_attachments.push({ id: id(), shared_runtime_id: actor, org_id: tenant, project_id: project, detached_at: null })
  return complete(draft, ground, () => goWrong(draft, shared, wrongOfOperators))
}
