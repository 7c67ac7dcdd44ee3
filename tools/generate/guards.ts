import { existsSync, readFileSync } from 'node:fs'
import { type Guarded, guardsPath } from '../evidence/guarded.ts'
import type { Document } from './document.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** What `npm run campaign:guards` found. */
export const guardsDocument: Document = {
  path: 'docs/generated/guards.md',
  make: async () => {
    const guarded: Guarded[] = existsSync(guardsPath) ? JSON.parse(readFileSync(guardsPath, 'utf8')) : []
    return [
      '# Faults that both tiers find',
      '',
      'A test of `npm run test:all` alone, a fault that it finds, and a test of `npm test` that goes red for the same fault. Found by `npm run campaign:guards`.',
      '',
      '| only in `test:all` | fault | goes red in `npm test` |',
      '|---|---|---|',
      ...guarded.map(({ moved, fault, guard }) => `| \`${moved}\` | ${cell(fault)} | ${cell(guard)} |`),
      '',
    ].join('\n')
  },
}
