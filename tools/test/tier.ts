import { execFileSync } from 'node:child_process'

/**
 * `test` guards every behaviour once; `test:all` adds what is left out there: `*.all.*` files, whole sweeps, the oldest PostgreSQL.
 * A file that takes `sweep`, `amount`, `oneOfMany` or `isWhole` from test/sweep.ts is in both tiers: a share of its cases first, all of them then.
 */
export type Tier = 'test' | 'test:all'

export const tierVariable = 'GATEHOUSE_TEST_TIER'
export const seedVariable = 'GATEHOUSE_TEST_SEED'

export const tierIn = (env: NodeJS.ProcessEnv): Tier => (env[tierVariable] === 'test:all' ? 'test:all' : 'test')

const commit = (): string => {
  try {
    return execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'none'
  }
}

/** What chooses the share of a sweep: the commit unless somebody names another, so that successive commits look at different cases. */
export const seedIn = (env: NodeJS.ProcessEnv): string => env[seedVariable] || commit()
