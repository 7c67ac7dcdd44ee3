import { part, type Recipes } from './recipe.ts'

export const nodeTasks: Recipes = {
  'node.probe': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: 'ada', params: { node_id: stage.node() }, body: {} }),
    effect: ({ params }) => [part('task', `node_tasks where node_id = $1 and type = 'diag.health_probe'`, params.node_id)],
  },
}
