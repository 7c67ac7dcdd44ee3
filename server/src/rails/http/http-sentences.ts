/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const httpSentences = {
  done: {
    'answer.repeat': 'was given the answer to {operation} again',
    'platform_role.mismatch': 'asked for an action of the platform while users.role ({users_role}) and the bindings disagree',
    'platform_role.source_unreadable': 'asked for an action of the platform while it cannot be read where platform roles come from',
  },
} as const
