import { part, type Recipes } from './recipe.ts'

export const nodeTasks: Recipes = {
  'node.task.report': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { person, node_id } = await stage.enrolled()
      await stage.done('node.probe', { person: 'ada', params: { node_id }, body: {} })
      const given = await stage.done('node.task.wait', { person, params: { node_id }, body: {} })
      const { task_id, generation } = (given as unknown as { tasks: { task_id: string; generation: number }[] }).tasks[0]!
      return {
        person,
        params: { node_id, task_id },
        body: { outcome: 'completed', generation, receipt: { applied_generation: generation } },
      }
    },
    effect: ({ params }) => [part('word', `node_tasks where id = $1 and state = 'completed' and reported_at is not null`, params.task_id)],
  },
  'node.probe': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: 'ada', params: { node_id: stage.node() }, body: {} }),
    effect: ({ params }) => [part('task', `node_tasks where node_id = $1 and type = 'diag.health_probe'`, params.node_id)],
  },
}
