import { asOperator } from './operator-credentials.ts'
import { part, type Recipes } from './recipe.ts'
import { runtimes } from './shared-runtimes.ts'

export const runtimeReports: Recipes = {
  'shared_runtime.status.report': {
    prepare: async (stage) => ({ ...(await asOperator(stage)), body: { sequence: 1, state: 'running', message: stage.word() } }),
    effect: ({ params, body }) => [part('report', `${runtimes} and reported_message = $2`, params.shared_runtime_id, body.message)],
  },
  'shared_runtime.members.report': {
    prepare: async (stage) => {
      const member = { name: stage.word(), role: 'worker', state: 'ready', allocation_id: null }
      return { ...(await asOperator(stage)), body: { sequence: 1, members: [member] } }
    },
    effect: ({ params }) => [
      part('member', 'shared_runtime_members where shared_runtime_id = $1', params.shared_runtime_id),
      part('sequence', `${runtimes} and members_sequence = 1`, params.shared_runtime_id),
    ],
  },
}
