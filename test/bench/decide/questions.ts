import { type Action, actions, overridePermission } from '@gatehouse/server/rails/authz/actions'
import { builtinRoleNames, permissionsOf } from '@gatehouse/server/rails/authz/catalogue'
import { peoplePerTenant, projectId, projectOf, projectsPerTenant, tenantId, tenantOf, userId } from './world.ts'

export interface Question {
  readonly user_id: string
  readonly action: Action
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** The same numbers in every run. */
export const numbers = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const keys = Object.keys(actions) as Action[]
/** What roles can give: relations to a single resource are ours alone and no part of the comparison. */
export const givenByRoles = keys.filter(
  (key) => builtinRoleNames.some((name) => permissionsOf(name).has(key)) || actions[key].override_eligible,
)

/** What each role gives, with what it includes; override, spelt out, is a role that gives every eligible key anywhere. */
export const permissionsByRole: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    builtinRoleNames.map((name) => [
      name,
      permissionsOf(name).has(overridePermission) ? keys.filter((key) => actions[key].override_eligible) : [...permissionsOf(name)],
    ]),
  ),
  // Who belongs to a project can read it, whatever his role.
  belonging: ['project.read'],
}

/** Seven of ten about the own place, the rest about a neighbouring project or another tenant. */
export const questionsAbout = (people: readonly number[], count: number, population: number, seed = 7): Question[] => {
  const next = numbers(seed)
  const tenants = population / peoplePerTenant
  return Array.from({ length: count }, (_, index) => {
    const person = people[index % people.length]!
    const where = next(20)
    const tenant = where < 17 ? tenantOf(person) : next(tenants)
    const project = where < 14 ? projectOf(person) : tenant * projectsPerTenant + next(projectsPerTenant)
    const action = givenByRoles[next(givenByRoles.length)]!
    const { tier } = actions[action]
    return {
      user_id: userId(person),
      action,
      tenant_id: tier === 'platform' ? null : tenantId(tenant),
      project_id: tier === 'project' || action === 'project.read' ? projectId(project) : null,
    }
  })
}

/** So many of them, evenly from the first to the last. */
export const sampleOf = (population: number, count: number): number[] =>
  Array.from({ length: Math.min(count, population) }, (_, index) => Math.floor((index * population) / Math.min(count, population)))
