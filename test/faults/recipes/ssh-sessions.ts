import { randomUUID } from 'node:crypto'
import { inProject, newProject } from './places.ts'
import { part, type Recipes } from './recipe.ts'

export const sshSessions: Recipes = {
  'node.event.report': {
    prepare: async (stage) => {
      const { person, node_id, region, sku } = await stage.enrolled()
      const project_id = (await newProject(stage)).id
      const body = { project_id, name: stage.word(), region, sku, gpus: 1, reason: stage.word() }
      const { id: allocation_id } = await stage.done('allocation.create', { ...inProject(project_id), params: {}, body })
      const event = { event_id: randomUUID(), kind: 'drift_restored', at: new Date().toISOString(), allocation_id, generation: 0 }
      return { person, params: { node_id }, body: { events: [{ ...event, found: 'changed' }] } }
    },
    effect: ({ body }) => [part('event', 'node_events where event_id = $1', (body.events as { event_id: string }[])[0]!.event_id)],
    actions: ['allocation.access_drift'],
  },
}
