import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tools/test/longest-first.ts'
import { hasPart } from './tools/test/parts.ts'

const ours = ['contract', 'server', 'agent', 'idp', 'examples', 'tools', 'test']
const places = (suffix: string) => ours.map((place) => `${place}/**/*${suffix}.ts`)
const dbTests = places('.db.test')
const e2eTests = ['test/e2e/**/*.test.ts']
const globalSetup = ['test/start-postgres.ts']
// What the product says to the oldest PostgreSQL; trials of the rules themselves need not be made twice.
const debian = {
  name: 'db15',
  include: ['server/**/*.db.test.ts', 'test/differential/{reference,through-api}.db.test.ts'],
  // What the door and the engine say, and what only the clock and the line decide, is the same whatever the database; long stories are told
  // there by command (GATEHOUSE_OLDEST=all). Every statement is tried there anyway.
  exclude:
    process.env.GATEHOUSE_OLDEST === 'all'
      ? []
      : [
          'server/src/access-grants/{access-grants,end-access}.db.test.ts',
          'server/src/{invitations/invitations,nodes/node-trust,roles/bindings,ssh-sessions/ssh-sessions}.db.test.ts',
          'server/src/policy-admin/policy-{constraints,values}.db.test.ts',
          'server/src/runtime-credentials/runtime-credentials.db.test.ts',
          'server/src/access-grants/{false-receipts,who-may-grant,withheld}.db.test.ts',
          'server/src/decisions/{asked-about-accounts,cases,many-rules,operators}.db.test.ts',
          'server/src/http/{hostile-input,fuzz,conventions,stray-secrets,observe,rate}.db.test.ts',
          'server/src/keys/rotation-under-load.db.test.ts',
          'server/src/node-tasks/waiting.db.test.ts',
          'server/src/oauth/{dpop,exchange-token,introspect-token,metadata,private-key-jwt,revoke-token,stock-clients}.db.test.ts',
          'server/src/shared-runtimes/operator-{allowlist,conditions,limits}.db.test.ts',
          'server/src/tokens/{held-chain,refused-keys,same-work}.db.test.ts',
        ],
  globalSetup,
}

export default defineConfig({
  test: {
    // Two cores. A worker is a process and goes from file to file of its project without loading anything anew: a third of the time goes
    // otherwise into starts. So a file leaves nothing changed that another sees.
    pool: 'forks',
    maxWorkers: 2,
    isolate: false,
    restoreMocks: true,
    // Transformed modules are kept under node_modules/.vitest-cache, by a hash of their content.
    fsModuleCache: true,
    allowOnly: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'unit', include: places('.test'), exclude: [...dbTests, ...e2eTests, '**/node_modules/**'] } },
      { extends: true, test: { name: 'db', include: dbTests, globalSetup } },
      // Last, because they start and kill whole processes and watch the clock; each in a process of its own for the same reason.
      {
        extends: true,
        test: {
          ...{ name: 'e2e', include: e2eTests, globalSetup, sequence: { groupOrder: 1 }, testTimeout: 120_000, hookTimeout: 120_000 },
          isolate: true,
        },
      },
      // The same database tests on the oldest PostgreSQL we promise; a machine without it says so in the list of skips.
      ...(hasPart('postgres15') ? [{ extends: true as const, test: debian }] : []),
    ],
  },
})
