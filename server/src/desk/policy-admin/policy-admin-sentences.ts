/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const policyAdminSentences = {
  done: {
    'policy.constraint.create': 'wrote the constraint {key}',
    'policy.constraint.delete': 'ended the constraint {key}',
    'policy.constraint.update': 'wrote version {version} of the constraint {key}',
    'policy.value.remove': 'ended the value of the policy {key}',
    'policy.value.set': 'set the policy {key}',
  },
} as const
