/** Who may come to a door: the columns of the matrix. Workloads and the platform's operators join when there are tokens of theirs. */
export const people = {
  platform_superadmin: 'grace',
  platform_ops: 'otto',
  /** Has signed in, and belongs nowhere. */
  platform_user: 'nemo',
  tenant_owner: 'alice',
  tenant_admin: 'adam',
  tenant_member: 'anna',
  tenant_billing_manager: 'abel',
  tenant_billing_viewer: 'agnes',
  tenant_viewer: 'arne',
  // Whoever is of a project is a member of its tenant.
  project_owner: 'amara',
  project_admin: 'aldo',
  project_member: 'asha',
  project_viewer: 'axel',
  /** The owner of another tenant, and of a project of it. */
  outsider: 'bella',
  outside_project_owner: 'berta',
} as const

/** Those of the project: with the roles that may be theirs, with one that holds what else is fit for them, with none; and another's. */
export const serviceAccounts = [
  'service_account_member',
  'service_account_viewer',
  'service_account_auditor',
  'service_account_bare',
  'outside_service_account',
] as const

/** Of the runtime that is asked about: without and with what its tenant may delegate; and another tenant's. */
export const operators = ['runtime_operator', 'delegated_operator', 'outside_operator'] as const

/** The node that is asked about, and another. */
export const nodeAgents = ['node_agent', 'other_node_agent'] as const

export type Person = keyof typeof people
export type ServiceAccount = (typeof serviceAccounts)[number]
export type Operator = (typeof operators)[number]
export type NodeAgent = (typeof nodeAgents)[number]
export type ActorClass = 'anonymous' | Person | ServiceAccount | Operator | NodeAgent

export const isOneOf = <T extends string>(list: readonly T[], name: string): name is T => list.some((each) => each === name)
export const personClasses = Object.keys(people) as Person[]
export const actorClasses: readonly ActorClass[] = ['anonymous', ...personClasses, ...serviceAccounts, ...operators, ...nodeAgents]
