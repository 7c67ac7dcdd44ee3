/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const rolesSentences = {
  done: {
    'project.member.add': 'added {user_id} to the project as {role_name}',
    'project.owner.appoint': 'appointed {user_id} owner of the project',
    'role.create': 'defined the role {name}',
    'role.delete': 'ended the role {name}',
    'role.disable': 'disabled the role {name} ({mode})',
    'role.enable': 'enabled the role {name}',
    'role.update': 'wrote version {version} of the role {name}',
    'role.upgrade': 'moved {moved} bindings of the role {name} to version {to_version}',
    'role_binding.create': 'bound {principal_id} to the role {role_name}',
    'role_binding.end': 'ended the binding of {principal_id} to the role {role_name}',
  },
} as const
