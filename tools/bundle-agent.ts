import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { rolldown } from 'rolldown'

/** The agent in one file that needs Node and nothing beside it. The same sources give the same bytes. */
export const bundleAgent = async (file: string): Promise<void> => {
  mkdirSync(dirname(file), { recursive: true })
  const bundle = await rolldown({
    input: 'agent/src/main.ts',
    platform: 'node',
    transform: { target: 'node20' },
    // Whatever is not found would be looked for on the node: better no bundle at all.
    onLog: (level, entry) => {
      if (level === 'warn') throw new Error(entry.message)
    },
  })
  await bundle.write({ file, format: 'esm', codeSplitting: false, banner: '#!/usr/bin/env node' })
  await bundle.close()
  chmodSync(file, 0o755)
}

if (import.meta.main) {
  await bundleAgent('agent/dist/gatehouse-agent.mjs')
  console.log('agent/dist/gatehouse-agent.mjs')
}
