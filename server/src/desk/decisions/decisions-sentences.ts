/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const decisionsSentences = {
  done: {
    'authz.explain': 'had it explained whether {asked} is allowed there',
  },
} as const
