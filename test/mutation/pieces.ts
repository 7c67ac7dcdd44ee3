/** Some files of the two rooms, and the tests that a mistake in them must fail: their own, and no other room's. */
export interface Piece {
  readonly files: readonly string[]
  readonly tests: readonly string[]
  readonly needs_database?: true
}

const authz = (...names: string[]) => names.map((name) => `server/src/rails/authz/${name}.ts`)
const policies = (...names: string[]) => names.map((name) => `server/src/rails/policies/${name}.ts`)

/**
 * Small pieces, because every mutant loads all tests of its piece anew. The laws by chance (`decide.prop.test.ts`) are left out: what
 * they find depends on luck, and they take twenty seconds.
 */
export const pieces: readonly Piece[] = [
  { files: authz('decide'), tests: authz('override-and-elevation.test', 'decide.test', 'operator-conditions.test') },
  { files: authz('actions', 'catalogue', 'carried-keys'), tests: authz('actions.test', 'catalogue.test', 'attributes.test') },
  { files: authz('attributes'), tests: authz('attributes.test') },
  { files: authz('local-times'), tests: authz('local-times.test') },
  {
    files: authz('standing', 'read-standings', 'facts', 'kind'),
    tests: authz('standing.test', 'read-standings.test', 'facts.test', 'operator-conditions.test'),
  },
  { files: authz('platform-source', 'superadmins'), tests: authz('platform-source.test', 'superadmins.test') },
  { files: authz('authorize', 'override-limits'), tests: authz('authorize.test') },
  { files: policies('condition'), tests: policies('condition.test') },
  { files: policies('constraint', 'constraint-chain'), tests: policies('constraint.test', 'constraint-chain.test') },
  { files: policies('effective-value'), tests: policies('effective-value.test') },
  { files: policies('policy-value', 'policy-definitions'), tests: policies('policy-definitions.test', 'policy-value.test') },
  { files: policies('read-policy', 'require-room'), tests: policies('read-policy.test', 'require-room.test') },
  {
    files: [...authz('bound-roles', 'standing-queries'), ...policies('constraint-queries', 'policy-queries')],
    tests: [
      ...policies('constraint-chain.test', 'read-policy.test', 'read-policy.db.test'),
      ...authz('bound-roles.db.test', 'facts.db.test'),
    ],
    needs_database: true,
  },
  {
    files: authz('as-many', 'platform-queries', 'service-account-standing-queries', 'operator-standing-queries', 'node-standing-queries'),
    tests: authz('bound-roles.db.test', 'superadmins.db.test', 'machine-standings.db.test', 'kept-plans.db.test'),
    needs_database: true,
  },
]
