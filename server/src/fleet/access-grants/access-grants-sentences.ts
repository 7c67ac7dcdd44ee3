/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const accessGrantsSentences = {
  done: {
    'allocation.access_grant.create': 'let {grantee_user_id} in with the key {fingerprint}',
    'allocation.access_grant.revoke': 'ended the access of {grantee_user_id} with the key {fingerprint} ({cause})',
  },
  updated: {
    'allocation.access_grant.create': 'changed until when and why {grantee_user_id} is let in with the key {fingerprint}',
  },
} as const
