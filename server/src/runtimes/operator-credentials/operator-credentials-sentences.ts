/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const operatorCredentialsSentences = {
  done: {
    'shared_runtime.operator_credential.create': 'made a credential for the operator of the runtime {display_name}',
    'shared_runtime.operator_credential.end': 'ended {count} credentials of the operator with the runtime {display_name}',
    'shared_runtime.operator_credential.list': 'read which credentials the operator of the runtime has',
    'shared_runtime.operator_credential.revoke': 'revoked a credential of the operator of the runtime {display_name}',
  },
} as const
