import { globSync, readFileSync } from 'node:fs'

/** Test files that take a share of their cases in `npm test`, and so run again, whole, in `npm run test:all`: those that import test/sweep.ts. */
export const sweepingFiles = (patterns: readonly string[]): string[] =>
  globSync([...patterns], { exclude: (path) => path.includes('node_modules') }).filter((path) =>
    /^import .*\/sweep\.ts'$/m.test(readFileSync(path, 'utf8')),
  )
