import { seeded } from '../../live-server.ts'
import { inProject, newProject } from './places.ts'
import { part, type Recipes, type Stage } from './recipe.ts'
import { aLine } from './ssh-keys.ts'

const { org, user } = seeded

/** In a project and a region of one's own, so that nobody waits for another's lock; on no node: there is none there. */
const aWish = async (stage: Stage, project_id: string) => {
  const there = inProject(project_id)
  const { id } = await stage.done('project.ssh_key.create', { ...there, body: aLine(stage) })
  const body = { project_id, name: stage.word(), region: stage.word(), sku: 'none', gpus: 1, ssh_key_ids: [id], reason: stage.word() }
  return { person: there.person, params: {}, body }
}
const anAllocation = async (stage: Stage, project_id: string) => {
  const wish = await aWish(stage, project_id)
  const { id } = await stage.done('allocation.create', wish)
  return { key_id: wish.body.ssh_key_ids[0]!, asking: { person: wish.person, params: { allocation_id: id } } }
}

const entries = 'allocation_ssh_public_keys where allocation_id = $1'

export const allocations: Recipes = {
  'allocation.create': {
    prepare: async (stage) => aWish(stage, (await newProject(stage)).id),
    effect: ({ body }) => [
      part('allocation', 'allocations where project_id = $1 and name = $2', body.project_id, body.name),
      part('key', 'allocation_ssh_public_keys e join allocations a on a.id = e.allocation_id where a.name = $1', body.name),
    ],
  },
  'allocation.release': {
    prepare: async (stage) => ({ ...(await anAllocation(stage, (await newProject(stage)).id)).asking, body: { reason: stage.word() } }),
    effect: ({ params }) => [
      part('released', `allocations where id = $1 and state = 'released'`, params.allocation_id),
      part('end of the key', `${entries} and end_cause = 'allocation_released'`, params.allocation_id),
    ],
  },
  'allocation.ssh_keys.replace': {
    prepare: async (stage) => {
      const project_id = (await newProject(stage)).id
      const { asking } = await anAllocation(stage, project_id)
      const { id } = await stage.done('project.ssh_key.create', { ...inProject(project_id), body: aLine(stage) })
      return { ...asking, body: { ssh_key_ids: [id], reason: stage.word() } }
    },
    effect: ({ params, body }) => [
      part('key', `${entries} and ssh_key_id = $2 and ended_at is null`, params.allocation_id, (body.ssh_key_ids as string[])[0]),
      part('end of the former', `${entries} and end_cause = 'replaced'`, params.allocation_id),
    ],
  },
  'allocation.owner.name': {
    lock: 'seeded organization',
    prepare: async (stage) => {
      const project_id = (await newProject(stage, org.aurora)).id
      const member = { user_id: user('anna'), role_name: 'project_viewer', reason: stage.word() }
      await stage.done('project.member.add', { ...inProject(project_id), body: member })
      const { asking } = await anAllocation(stage, project_id)
      return { ...asking, body: { user_id: user('anna'), reason: stage.word() } }
    },
    effect: ({ params, body }) => [part('owner', 'allocations where id = $1 and owner_user_id = $2', params.allocation_id, body.user_id)],
  },
}
