/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const taskSignersSentences = {
  done: {
    'node.signer.activate': 'began to sign tasks with the first key at hand',
    'node.signer.retire': 'put version {version} of the key away that signs tasks',
    'node.signer.revoke': 'revoked version {version} of the key that signs tasks',
    'node.signer.rotate': 'began to sign tasks with version {version} of the key',
    'node.signer.stage': 'let nodes know version {version} of the key that signs tasks',
  },
} as const
