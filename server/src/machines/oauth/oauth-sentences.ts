/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const oauthSentences = {
  done: {
    'oauth.token.introspect': 'asked whether a token counts',
  },
} as const
