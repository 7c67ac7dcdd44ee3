import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig, type Plugin } from 'vitest/config'
import base from '../../vitest.config.ts'
import type { Mutant } from '../climb/mutants.ts'

const changes = JSON.parse(process.env.GATEHOUSE_CHANGES ?? '[]') as Mutant[]
const pathOf = ({ file }: Mutant): string => fileURLToPath(new URL(`../../${file}`, import.meta.url))

/** The product with a fault, as the tests load it; no file is changed. */
const changedText: Plugin = {
  name: 'changed-text',
  enforce: 'pre',
  transform: (code, id) => {
    const here = changes.filter((change) => pathOf(change) === id.split('?')[0])
    return here.length === 0 ? undefined : here.reduce((text, { find, replace }) => text.replace(find, () => replace), code)
  },
}

// What is transformed here must not be kept for others.
export default mergeConfig(base, defineConfig({ plugins: [changedText], test: { fsModuleCache: false, bail: 1 } }))
