import { serviceAccountOf } from '../fuzz/rightful-calls.ts'
import { runtimeOf } from '../fuzz/shared-runtime-calls.ts'
import { seeded } from '../live-server.ts'
import { type Person, people } from './actor-classes.ts'
import type { Refusal } from './allowed.ts'
import type { Asked } from './calls.ts'
import type { OwnThings } from './world.ts'

/**
 * The rows that one operation has besides its own in `allowed.ts`: where it is about the asker himself or what is his, or about a machine in
 * the place of a person. By hand too. Whoever is not named is not asked: what he hears is said there.
 */
interface OwnRow {
  readonly operation: string
  readonly what: string
  readonly allowed: readonly Person[]
  readonly refused: Readonly<Partial<Record<Person, Refusal>>>
  readonly asked: (own: OwnThings, who: Person) => Asked
}

const { org, project, user } = seeded
const because = { reason: 'because' }
const ofProject = { project_id: project.aurora }
const inProject: readonly Person[] = ['project_owner', 'project_admin', 'project_member', 'project_viewer']
const denied: Refusal = { status: 403, reason: 'permission_denied' }
const missing: Refusal = { status: 403, reason: 'membership_missing' }

const onOwn = (own: OwnThings, who: Person) => ({ params: { allocation_id: own.allocations.get(who)!.allocation_id } })
const onGrant = (own: OwnThings, who: Person) => {
  const { shared_allocation_id, grant_id } = own.allocations.get(who)!
  return { allocation_id: shared_allocation_id, grant_id }
}
const account = { principal_type: 'service_account', principal_id: serviceAccountOf('active'), role_name: 'project_viewer' }
const operatorOf = { actor: { type: 'shared_runtime_operator', id: runtimeOf('own') } }

export const ownRows: readonly OwnRow[] = [
  {
    operation: 'organization.member.remove',
    what: 'himself',
    // The owner is the last one.
    allowed: ['tenant_admin', 'tenant_member', 'tenant_billing_manager', 'tenant_billing_viewer', 'tenant_viewer', 'project_viewer'],
    refused: {},
    asked: (_, who) => ({ params: { org_id: org.aurora, user_id: user(people[who]) }, body: because }),
  },
  {
    operation: 'project.member.remove',
    what: 'himself',
    allowed: ['project_admin', 'project_member', 'project_viewer'],
    refused: {},
    asked: (_, who) => ({ params: { ...ofProject, user_id: user(people[who]) }, body: because }),
  },
  {
    operation: 'allocation.access_grant.create',
    what: 'on his own allocation',
    allowed: inProject,
    // Who has left the project has left what is his there.
    refused: { tenant_member: missing },
    asked: (own, who) => ({ ...onOwn(own, who), body: { grantee_user_id: own.nia, ssh_key_id: own.nias_key_id, ...because } }),
  },
  {
    operation: 'allocation.access_grant.list',
    what: 'of his own allocation',
    allowed: inProject,
    refused: { tenant_member: missing },
    asked: onOwn,
  },
  {
    operation: 'allocation.ssh_keys.replace',
    what: 'of his own allocation',
    allowed: inProject,
    refused: { tenant_member: missing, tenant_owner: missing },
    asked: (own, who) => ({ ...onOwn(own, who), body: { ssh_key_ids: [], ...because } }),
  },
  {
    operation: 'allocation.access_grant.list',
    what: 'where he was let in',
    allowed: inProject,
    refused: {},
    asked: (own, who) => ({ params: { allocation_id: onGrant(own, who).allocation_id } }),
  },
  {
    operation: 'allocation.access_grant.revoke',
    what: 'of his own',
    allowed: inProject,
    refused: {},
    asked: (own, who) => ({ params: onGrant(own, who), body: because }),
  },
  {
    operation: 'project.member.ssh_key.list',
    what: 'to let somebody into his own allocation',
    allowed: inProject,
    refused: { tenant_member: missing },
    asked: ({ nia }) => ({ params: { ...ofProject, user_id: nia } }),
  },
  {
    operation: 'role_binding.create_of_project',
    what: 'for a service account',
    allowed: ['platform_superadmin', 'project_owner', 'project_admin'],
    refused: { project_member: denied, project_viewer: denied, tenant_owner: missing, tenant_admin: missing },
    asked: () => ({ params: ofProject, body: { ...account, ...because } }),
  },
  {
    operation: 'auth.token.revoke',
    what: 'of a runtime’s operator',
    allowed: ['platform_superadmin', 'tenant_owner', 'tenant_admin'],
    refused: { tenant_member: denied, project_owner: denied },
    asked: () => ({ params: {}, body: { ...operatorOf, ...because } }),
  },
]
