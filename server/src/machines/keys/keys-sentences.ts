/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const keysSentences = {
  done: {
    'signing_key.activate': 'began to sign tokens with the first key at hand',
    'signing_key.retire': 'put a signing key away',
    'signing_key.revoke': 'revoked a signing key, and with it every token that it signed',
    'signing_key.rotate': 'began to sign tokens with the next key',
    'signing_key.stage': 'made the next signing key public',
  },
} as const
