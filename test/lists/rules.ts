import { type Action, isConstrainable } from '../../server/src/rails/authz/actions.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import { nested, pairs } from './pairs.ts'
import type { World } from './world.ts'

const { org, project } = seeded
const ofTenant = `/api/v1/orgs/${org.aurora}/policies/constraints`
const ofPlatform = '/api/v1/admin/policies/constraints'
const ofProject = (id: string) => `/api/v1/projects/${id}/policies/constraints`

/** Writes one; what ends it again. */
const written = async (live: LiveServer, path: string, rule: object): Promise<() => Promise<unknown>> => {
  const person = path === ofPlatform ? 'ada' : 'alice'
  const { status, text, body } = await live.call(person, 'POST', path, { body: { condition: {}, reason: 'because', ...rule } })
  if (status !== 201) throw new Error(`${path} ${status} ${text}`)
  return () => live.call(person, 'DELETE', `${path}/${body.id}`, { body: { reason: 'because' } })
}

const forOperators = { in: { actor_type: ['shared_runtime_operator'] } }
const byOperators = ['tenant.shared_runtime.read', 'shared_runtime.allocation.read']

/**
 * Of projects some are hidden by themselves, some by their tenant, and some of those are exempt, which counts where the tenant's rule is
 * not locked. Of allocations, some are hidden by their size, model and place; and of attachments, most from operators.
 * Some projects nobody may attach.
 */
export const hideSome = async (live: LiveServer, { projects }: Pick<World, 'projects'>): Promise<void> => {
  const exempt = { state: 'disabled' }
  const wide = { key: 'wide', actions: ['project.read'], condition: { in: { actor_type: ['user'] } } }
  const locked = { key: 'locked', actions: ['allocation.read'], is_locked: true, condition: { at_least: { gpus: 8 } } }
  const operators = { key: 'operators', actions: byOperators, condition: forOperators }
  await written(live, ofTenant, wide)
  await written(live, ofTenant, locked)
  await written(live, ofProject(project.aurora), { ...locked, ...exempt })
  await written(live, ofTenant, operators)
  await written(live, ofPlatform, { key: 'models', actions: ['allocation.read'], condition: { in: { sku: ['b200'] } } })
  await written(live, ofProject(project.aurora), {
    key: 'places',
    actions: ['allocation.read'],
    condition: { in: { region: ['ap'] }, not: { in: { actor_type: ['service_account'] } } },
  })
  for (const [n, id] of projects.entries()) {
    // No rule is written in a project that rests.
    if (n % 7 === 6) continue
    if (n % 2 === 0) await written(live, ofProject(id), { ...wide, ...exempt })
    if (n % 4 === 0) await written(live, ofProject(id), { key: 'hide', actions: ['project.read'] })
    if (n % 3 === 0) await written(live, ofProject(id), { ...operators, ...exempt })
    if (n % 5 === 0) await written(live, ofProject(id), { key: 'keep', actions: ['tenant.shared_runtime.manage'] })
    if (n % 9 === 0) await written(live, ofProject(id), { key: 'hide-attachment', actions: byOperators, condition: forOperators })
  }
}

/** What things are, as rules are told it. */
export const resourceTypes = [
  'allocation',
  'node',
  'organization',
  'platform',
  'policy_constraint',
  'project',
  'role',
  'service_account',
  'shared_runtime',
  'shared_runtime_attachment',
  'user',
]

const actions = [...new Set([...pairs, ...nested].flatMap(({ list, read }) => [...list.actions, ...read.actions]))]

/** A rule of the platform over all that is listed and read, for things of one kind only: a list is a thing of the kind that is on it. */
export const hideType = (live: LiveServer, resource_type: string) =>
  written(live, ofPlatform, {
    key: 'kind',
    actions: actions.filter((action) => isConstrainable(action as Action)),
    condition: { in: { resource_type: [resource_type] } },
  })
