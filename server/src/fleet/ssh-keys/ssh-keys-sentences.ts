/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const sshKeysSentences = {
  done: {
    'project.ssh_key.create': 'registered the SSH key {fingerprint} for the project’s automation',
    'project.ssh_key.delete': 'deleted the SSH key {fingerprint} of the project’s automation',
    'ssh_key.create': 'registered the SSH key {fingerprint}',
    'ssh_key.delete': 'deleted the SSH key {fingerprint}',
  },
} as const
