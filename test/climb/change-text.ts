// Loaded before anything else in a process of its own: changes the text of the product's files as they are read, and no file.
import { registerHooks } from 'node:module'
import type { Mutant } from './mutants.ts'

const changes = JSON.parse(process.env.GATEHOUSE_CHANGES ?? '[]') as Mutant[]
const urlOf = ({ file }: Mutant): string => new URL(`../../${file}`, import.meta.url).href

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    const here = changes.filter((change) => urlOf(change) === url)
    if (here.length === 0) return loaded
    const text = String(loaded.source)
    return { ...loaded, source: here.reduce((changed, { find, replace }) => changed.replace(find, () => replace), text) }
  },
})
