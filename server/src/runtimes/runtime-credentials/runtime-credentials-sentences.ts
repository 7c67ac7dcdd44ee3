/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const runtimeCredentialsSentences = {
  done: {
    'shared_runtime.credential.deliver': 'was promised version {version} of the secret {name}',
    'shared_runtime.credential.deposit': 'left version {version} of the secret {name} for the runtime {display_name}',
    'shared_runtime.credential.list': 'read which secrets are left for the runtime',
    'shared_runtime.credential.revoke': 'took back version {version} of the secret {name} of the runtime {display_name}',
    'shared_runtime.deliveries.end': 'ended {deliveries_ended_count} deliveries that waited for the operator of the runtime {display_name}',
  },
  updated: {
    'shared_runtime.credential.deposit':
      'left version {version} of the secret {name} for the runtime {display_name}, in the place of version {replaced_version}',
  },
} as const
