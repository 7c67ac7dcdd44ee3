import { operations } from '../../contract/src/operations.ts'
import { byName } from './by-name.ts'
import { accessGrants } from './recipes/access-grants.ts'
import { allocations } from './recipes/allocations.ts'
import { invitations } from './recipes/invitations.ts'
import { keys, taskSigners } from './recipes/key-lives.ts'
import { nodeTasks } from './recipes/node-tasks.ts'
import { nodes } from './recipes/nodes.ts'
import { operatorCredentials } from './recipes/operator-credentials.ts'
import { policies } from './recipes/policies.ts'
import { principals } from './recipes/principals.ts'
import type { Recipes } from './recipes/recipe.ts'
import { roles } from './recipes/roles.ts'
import { runtimeCredentials } from './recipes/runtime-credentials.ts'
import { runtimeReports } from './recipes/runtime-reports.ts'
import { serviceAccounts } from './recipes/service-accounts.ts'
import { sharedRuntimes } from './recipes/shared-runtimes.ts'
import { sshKeys } from './recipes/ssh-keys.ts'
import { sshSessions } from './recipes/ssh-sessions.ts'
import { tenancy } from './recipes/tenancy.ts'
import { tokens } from './recipes/tokens.ts'

/** How each operation that changes something is asked for, and how one sees that it happened. */
export const recipes: Recipes = byName([
  tenancy,
  invitations,
  roles,
  serviceAccounts,
  nodes,
  sshKeys,
  allocations,
  accessGrants,
  sharedRuntimes,
  runtimeCredentials,
  runtimeReports,
  operatorCredentials,
  nodeTasks,
  sshSessions,
  taskSigners,
  policies,
  tokens,
  keys,
  principals,
])

/** What a campaign must cover: a new operation that changes something and has no recipe is reported by name. */
export const withoutRecipe = (): string[] =>
  operations
    // What a node is given is given again until it has answered: that has no once.
    .filter(({ id, effect }) => effect === 'change' && id !== 'node.task.wait' && !Object.hasOwn(recipes, id))
    .map(({ id }) => id)

export const operationOf = (id: string) => {
  const operation = operations.find((each) => each.id === id)
  if (!operation) throw new Error(`there is no operation ${id}`)
  return operation
}

export const isKeyed = (id: string): boolean => operationOf(id).repeated_by === 'key'
export const actionsOf = (id: string): readonly string[] => recipes[id]!.actions ?? [id]
