/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const serviceAccountsSentences = {
  done: {
    'service_account.create': 'created the service account {slug}',
    'service_account.delete': 'ended the service account {slug}',
    'service_account.disable': 'disabled the service account {slug}',
    'service_account.enable': 'enabled the service account {slug}',
    'service_account.key.create': 'made a key for the service account {slug}',
    'service_account.key.revoke': 'revoked a key of the service account {slug}',
    'service_account.key.rotate': 'made a key for the service account {slug} in the place of another',
  },
} as const
