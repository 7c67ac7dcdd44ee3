import { existsSync } from 'node:fs'
import { sourceFolders } from './source-folders.ts'

const bin = 'node_modules'
const places = sourceFolders.filter((place) => existsSync(place))

export type Check = { name: string; args: readonly string[] }

/** What must hold before the first test: each is a script that says nothing worth reading unless it fails. */
export const checks: readonly Check[] = [
  // Incremental: it checks again what changed and what depends on it, by a hash of each file.
  {
    name: 'types',
    args: [`${bin}/ts7/bin/tsc`, '-p', '.', '--incremental', '--tsBuildInfoFile', `${bin}/.cache/gatehouse/types.tsbuildinfo`],
  },
  { name: 'lint', args: [`${bin}/@biomejs/biome/bin/biome`, 'check', '--error-on-warnings', '.'] },
  {
    name: 'architecture rules',
    args: [`${bin}/dependency-cruiser/bin/dependency-cruiser.mjs`, '--config', '.dependency-cruiser.cjs', '--progress', 'none', ...places],
  },
  // It keeps what it has read of each file that is unchanged.
  { name: 'dead code', args: [`${bin}/knip/bin/knip.js`, '--cache', '--cache-location', `${bin}/.cache/gatehouse/knip`] },
  { name: 'generated documents', args: ['tools/generate.ts', '--check'] },
]
