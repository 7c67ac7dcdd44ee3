/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const nodeTasksSentences = {
  done: {
    'node.agent_version': 'runs version {agent_version} of the agent',
    'node.probe': 'asked the node for a sign of life',
    'node.task.dispatch': 'was given the task {task_type} (generation {generation})',
    'node.task.expire': 'put the task {task_type} away, since nobody waits for it any more',
    'node.task.overdue': 'found the task {task_type} (generation {generation}) unanswered for too long',
    'node.task.renew': 're-signed the task {task_type} (generation {generation})',
    'node.task.report': 'reported the task {task_type} (generation {generation}) as {outcome}',
  },
} as const
