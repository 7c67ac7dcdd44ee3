/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const deliveriesSentences = {
  done: {
    'delivery.unwrap': 'opened a delivery of version {version} of {name}',
  },
  refused: {
    'delivery.unwrap': 'tried to open a delivery of version {version} of {name}, and got nothing ({why})',
  },
} as const
