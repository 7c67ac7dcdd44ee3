/** What the record says of what is done here; `{name}` is taken from the metadata. */
export const principalsSentences = {
  done: {
    'development.move': 'moved {people} development people to another provider',
    'development.seed': 'seeded {people} development people',
    'user.address': 'took over the address that the provider vouches for',
    'user.create': 'signed a person in for the first time',
    'user.disable': 'disabled the person',
    'user.enable': 'enabled the person',
  },
} as const
