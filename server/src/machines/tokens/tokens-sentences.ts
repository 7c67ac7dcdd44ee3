/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const tokensSentences = {
  done: {
    'auth.token.list_of_project': 'read which tokens were issued in the project',
    'auth.token.list_of_shared_runtime': 'read which tokens were issued to the operator of the runtime',
    'auth.token.revoke': 'ended tokens of the {subject_type} {subject_id}',
    'auth.token.issue': 'was issued a token for {audience}',
  },
  refused: {
    'auth.token.deny': 'asked for a token and got none ({why})',
  },
} as const
