import type { Runbook } from '@gatehouse/contract/ops'

/** What to do, in the order of their ids. They are code, so that a server tells what its own version can do. */
export const runbooks = [
  {
    id: 'builtin-role-disabled',
    name: 'A built-in role is disabled',
    when: 'People who hold the role are refused with reason `role_disabled`; the overview counts disabled built-in roles.',
    steps: [
      'List the built-in roles and find the disabled one. `disable_mode` and `disabled_at` say how and since when.',
      'Read in the audit record who disabled it and why: action `role.disable`.',
      'If the reason is over, enable the role. Only a superadmin can, and must give a reason.',
    ],
    operations: ['role.list_builtin', 'audit_log.list_all', 'role.enable_builtin'],
    guide: 'docs/guides/roles.md',
  },
  {
    id: 'database-restored',
    name: 'The database was restored from a backup',
    when: 'The server refuses to start and says that the database is behind its checkpoints.',
    steps: [
      'Make sure that the database is the one you mean to run, and that no newer one exists.',
      'Verify the record: `npm run audit:verify`.',
      'Accept the restore as the guide says. Every token, credential and grant of the former epoch ends.',
    ],
    operations: ['audit_log.verify'],
    guide: 'docs/guides/backup.md',
  },
  {
    id: 'key-leaked',
    name: 'The key or a token of a machine has leaked',
    when: 'A secret was seen in a log, a repository or a message.',
    steps: [
      'Revoke the key; its tokens end at once. Of a single token, revoke that token.',
      'List the audit rows of that `credential_id` or `jti`: they say what was done with it.',
      'Make a new key for the service account and hand it over.',
    ],
    operations: ['service_account.key.revoke', 'auth.token.revoke', 'audit_log.list_all', 'service_account.key.create'],
    guide: 'docs/guides/service-accounts.md',
  },
  {
    id: 'node-unavailable',
    name: 'A node is unavailable',
    when: 'The overview counts unavailable nodes, or tasks of nodes are overdue.',
    steps: [
      'List the nodes; an unavailable one has not asked for its tasks for a while.',
      'Ask it for a sign of life with a probe, and look at its open tasks.',
      'On the machine, see whether the agent runs and reaches the door of the nodes.',
      'If it stays away, drain it, so that nothing new is placed on it; retire it if it will not return.',
    ],
    operations: ['node.list', 'node.probe', 'node.task.list', 'node.drain', 'node.retire'],
    guide: 'docs/guides/nodes.md',
  },
  {
    id: 'project-without-owner',
    name: 'A project has no owner',
    when: 'The overview counts projects whose owners have left or are disabled.',
    steps: [
      'Find the organization’s owner: they hold `tenant.project.appoint_owner`.',
      'They appoint a member of the organization as the owner of the project.',
    ],
    operations: ['project.owner.appoint'],
    guide: 'docs/guides/roles.md',
  },
  {
    id: 'release-failed',
    name: 'A release of an allocation has failed',
    when: 'The overview counts allocations in `release_failed`; their place on the node is not free.',
    steps: [
      'Read the failure of the allocation’s last task on its node.',
      'Mend the cause on the node, then release the allocation again.',
    ],
    operations: ['node.task.list', 'allocation.release'],
    guide: 'docs/guides/allocations.md',
  },
] as const satisfies readonly Runbook[]

export type RunbookId = (typeof runbooks)[number]['id']
