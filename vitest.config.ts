import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tools/test/longest-first.ts'
import { hasPart } from './tools/test/parts.ts'
import { sourceFolders } from './tools/test/source-folders.ts'
import { sweepingFiles } from './tools/test/sweeping-files.ts'
import { tierIn, tierVariable } from './tools/test/tier.ts'

const places = (suffix: string) => sourceFolders.map((place) => `${place}/**/*${suffix}.ts`)
const globalSetup = ['test/start-postgres.ts']
const isAll = tierIn(process.env) === 'test:all'

/** Which files of a kind this tier runs. `npm test`: all but `*.all.*`. The rest of `npm run test:all`: those, and what takes only a share there, whole. */
const inTier = (suffix: string) => (isAll ? [...places(`.all${suffix}`), ...sweepingFiles(places(suffix))] : places(suffix))
const onlyAll = ['**/*.all.*']
const leftOut = ['**/node_modules/**', ...(isAll ? [] : onlyAll)]
const dbTests = places('.db.test')
const e2eTests = places('.e2e.test')

export default defineConfig({
  test: {
    // A worker is a process and goes from file to file of its project without loading anything again: a third of the time goes
    // otherwise into starts. So a file leaves nothing changed that another sees. Two cores and four workers: half of the time of a file is
    // waiting, for the database or for processes that it has started.
    pool: 'forks',
    maxWorkers: 4,
    isolate: false,
    restoreMocks: true,
    // Transformed modules are kept under node_modules/.vitest-cache, by a hash of their content.
    fsModuleCache: true,
    allowOnly: false,
    passWithNoTests: true,
    sequence: { sequencer: LongestFirst },
    // A bound for what hangs, far above what anything takes on a busy machine: it decides nothing else.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    setupFiles: ['test/account.ts', 'test/seeded-chance.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: inTier('.test'), exclude: [...dbTests, ...e2eTests, ...leftOut] } },
      { extends: true, test: { name: 'db', include: inTier('.db.test'), exclude: leftOut, globalSetup } },
      {
        extends: true,
        test: { name: 'e2e', include: inTier('.e2e.test'), exclude: leftOut, globalSetup },
      },
      // Every database test on the oldest PostgreSQL that we promise, as `npm test` runs it on the newest.
      ...(isAll && hasPart('postgres15')
        ? [
            {
              extends: true as const,
              test: {
                name: 'db15',
                include: dbTests,
                exclude: ['**/node_modules/**', ...onlyAll],
                globalSetup,
                env: { [tierVariable]: 'test' },
              },
            },
          ]
        : []),
    ],
  },
})
