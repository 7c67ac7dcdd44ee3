// Loaded before anything else in a process of its own: holds several builds of the product at once, each with its own changes of the text,
// and changes no file. What a change does not reach is loaded once for all builds, which makes one more build cheap.
import { registerHooks } from 'node:module'
import type { Change } from './faults.ts'

const root = new URL('../../', import.meta.url).href
const sound = new URL('../faults/compose.ts', import.meta.url).href

/** Who imports each of our files, as the sound build was loaded. */
const importers = new Map<string, Set<string>>()
/** Their texts: every build is of these, whatever is written meanwhile. */
const texts = new Map<string, string>()
const builds: { readonly changes: ReadonlyMap<string, readonly Change[]>; readonly reached: ReadonlySet<string> }[] = []

const isOurs = (url: string): boolean => url.startsWith(root) && !url.includes('/node_modules/')
const bare = (url: string): string => url.split('?', 1)[0]!
const buildOf = (url: string | undefined): number => Number(url === undefined ? -1 : (/\?build=(\d+)$/.exec(url)?.[1] ?? -1))

/** Whatever imports one of these, however far away. */
const reachedFrom = (changed: Iterable<string>): ReadonlySet<string> => {
  const reached = new Set(changed)
  for (const url of reached) for (const importer of importers.get(url) ?? []) reached.add(importer)
  return reached
}

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context)
    const url = bare(resolved.url)
    const { parentURL } = context
    if (!isOurs(url) || parentURL === undefined) return resolved
    const build = Math.max(buildOf(parentURL), buildOf(specifier))
    if (build >= 0) return { ...resolved, url: builds[build]!.reached.has(url) ? `${url}?build=${build}` : url }
    importers.set(url, (importers.get(url) ?? new Set()).add(bare(parentURL)))
    return resolved
  },
  load: (url, context, next) => {
    const build = buildOf(url)
    if (build < 0) {
      const loaded = next(url, context)
      if (isOurs(url)) texts.set(url, String(loaded.source))
      return loaded
    }
    const changes = builds[build]!.changes.get(bare(url)) ?? []
    const text = texts.get(bare(url))!
    // A change that fits twice, or no longer, is no fault.
    for (const { find } of changes) if (text.split(find).length !== 2) throw new Error(`${bare(url)} does not hold once: ${find}`)
    const source = changes.reduce((changed, { find, replace }) => changed.replace(find, () => replace), text)
    return { format: 'module-typescript', source, shortCircuit: true }
  },
})

export type Compose = typeof import('../faults/compose.ts')['composeServer']

/** The product with these changes, or as it is. */
export const composeOf = async (changes: readonly Change[]): Promise<Compose> => {
  const asItIs = (await import('../faults/compose.ts')).composeServer
  if (changes.length === 0) return asItIs
  const byUrl = Map.groupBy(changes, ({ file }) => new URL(file, root).href)
  const reached = reachedFrom(byUrl.keys())
  if (!reached.has(sound)) throw new Error('no server is reached by these changes')
  builds.push({ changes: byUrl, reached })
  return (await import(`../faults/compose.ts?build=${builds.length - 1}`)).composeServer
}
