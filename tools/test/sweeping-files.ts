import { globSync, readFileSync } from 'node:fs'

/** Test files that take a share of their cases in `npm test`, and so run again, whole, in `npm run test:all`: those that take `sweep`, `amount`, `oneOfMany` or `isWhole` from test/sweep.ts. */
export const sweepingFiles = (patterns: readonly string[]): string[] =>
  globSync([...patterns], { exclude: (path) => path.includes('node_modules') }).filter((path) =>
    /^import \{[^}]*\b(?:amount|isWhole|oneOfMany|sweep)\b[^}]*\} from '.*\/sweep\.ts'$/m.test(readFileSync(path, 'utf8')),
  )
