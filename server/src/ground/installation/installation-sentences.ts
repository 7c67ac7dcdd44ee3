/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const installationSentences = {
  done: {
    'installation.rewrap': 're-sealed every secret at rest',
    'installation.restore.accept': 'accepted a restored database and began epoch {epoch}',
  },
} as const
