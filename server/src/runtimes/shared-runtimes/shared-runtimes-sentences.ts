/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const sharedRuntimesSentences = {
  done: {
    'shared_runtime.allocation.list': 'read which allocations are contributed to the runtime',
    'shared_runtime.attachment.create': 'attached a project to the runtime {display_name} ({contribution_policy})',
    'shared_runtime.attachment.delete': 'detached a project from the runtime {display_name}',
    'shared_runtime.attachment.list': 'read which projects are attached to the runtime',
    'shared_runtime.attachment.read': 'read an attachment of the runtime',
    'shared_runtime.attachment.update': 'changed what a project contributes to the runtime {display_name} to {contribution_policy}',
    'shared_runtime.create': 'created the shared runtime {display_name}',
    'shared_runtime.delete': 'ended the shared runtime {display_name}',
    'shared_runtime.disable': 'disabled the shared runtime {display_name}',
    'shared_runtime.enable': 'enabled the shared runtime {display_name}',
    'shared_runtime.members.read': 'read the members of the runtime',
    'shared_runtime.members.report': 'reported {members} members of the runtime {display_name} (report {sequence})',
    'shared_runtime.read': 'read the runtime',
    'shared_runtime.status.report': 'reported the runtime {display_name} as {state} (report {sequence})',
    'shared_runtime.update': 'wrote version {version} of the shared runtime {display_name}',
  },
  late: {
    'shared_runtime.members.report': 'reported {members} members of the runtime {display_name} (report {sequence}), too late to count',
    'shared_runtime.status.report': 'reported the runtime {display_name} as {state} (report {sequence}), too late to count',
  },
} as const
