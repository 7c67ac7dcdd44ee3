import * as accessGrants from './access-grants.ts'
import * as allocations from './allocations.ts'
import * as auditLogs from './audit-logs.ts'
import * as constraints from './constraints.ts'
import * as decisions from './decisions.ts'
import * as invitations from './invitations.ts'
import * as members from './members.ts'
import * as nodeDescription from './node-description.ts'
import * as nodeEvents from './node-events.ts'
import * as nodes from './nodes.ts'
import * as oauth from './oauth.ts'
import type { Operation } from './operation.ts'
import * as operatorCredentials from './operator-credentials.ts'
import * as ops from './ops.ts'
import * as organizations from './organizations.ts'
import * as policies from './policies.ts'
import * as projects from './projects.ts'
import * as roleBindings from './role-bindings.ts'
import * as roleUpgrades from './role-upgrades.ts'
import * as roles from './roles.ts'
import * as runtimeAttachments from './runtime-attachments.ts'
import * as runtimeCredentials from './runtime-credentials.ts'
import * as serviceAccounts from './service-accounts.ts'
import * as sharedRuntimes from './shared-runtimes.ts'
import * as signingKeys from './signing-keys.ts'
import * as sshKeys from './ssh-keys.ts'
import * as tokens from './tokens.ts'
import * as users from './users.ts'

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'actors' in value && 'path' in value

/** Every operation there is, in the order of their ids. */
export const operations: readonly Operation[] = [
  auditLogs,
  decisions,
  users,
  organizations,
  projects,
  roles,
  roleBindings,
  roleUpgrades,
  serviceAccounts,
  members,
  invitations,
  policies,
  constraints,
  signingKeys,
  tokens,
  oauth,
  nodes,
  sshKeys,
  allocations,
  accessGrants,
  nodeEvents,
  nodeDescription,
  sharedRuntimes,
  runtimeAttachments,
  operatorCredentials,
  runtimeCredentials,
  ops,
]
  .flatMap((file) => Object.values(file).filter(isOperation))
  .sort((a, b) => (a.id < b.id ? -1 : 1))
