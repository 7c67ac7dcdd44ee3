/** Where our own code and tests are. */
export const sourceFolders = ['contract', 'server', 'agent', 'idp', 'examples', 'tools', 'test'] as const
