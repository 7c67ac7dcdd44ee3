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

/** Operations that change something and need no recipe, each with its reason. */
export const exempt: Readonly<Record<string, string>> = {
  'node.task.wait': 'the server dispatches a task again until the node has reported, so "exactly once" does not apply',
}

/** What a campaign must cover: a new operation that changes something and has no recipe is reported by name. */
export const withoutRecipe = (): string[] =>
  operations
    .filter(({ id, effect }) => effect === 'change' && !Object.hasOwn(exempt, id) && !Object.hasOwn(recipes, id))
    .map(({ id }) => id)

/** What the kill campaign covers and what it leaves out, as sentences. */
export const coverage = (): string => {
  const of = (...effects: string[]) => operations.filter(({ effect }) => effects.includes(effect)).map(({ id }) => id)
  const changes = of('change')
  const others = Object.keys(recipes).filter((id) => !changes.includes(id))
  const left = Object.entries(exempt).map(([id, why]) => `\`${id}\` (${why})`)
  return [
    `${changes.filter((id) => Object.hasOwn(recipes, id)).length} of the ${changes.length} operations that change something are in it,`,
    `and ${others.map((id) => `\`${id}\``).join(', ')}, whose first call signs a person in.`,
    `Left out: ${left.join('; ')}; ${of('read').length} reads; ${of('recorded_read').length} reads that write nothing but an audit row.`,
  ].join(' ')
}

export const operationOf = (id: string) => {
  const operation = operations.find((each) => each.id === id)
  if (!operation) throw new Error(`there is no operation ${id}`)
  return operation
}

export const isKeyed = (id: string): boolean => operationOf(id).repeated_by === 'key'
export const actionsOf = (id: string): readonly string[] => recipes[id]!.actions ?? [id]
