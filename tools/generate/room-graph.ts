import { globSync, readFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'
import { roomFolders } from './room-folders.ts'

/** One import of the product that leaves its room; what starts the process counts as the room `process`. */
export interface Edge {
  readonly from: string
  readonly to: string
  /** The file that is imported, by its path inside its room. */
  readonly file: string
}

const specifier = /(?:\bfrom |\bimport |\bimport\()'([.#][^']+\.ts)'/g
const product = globSync('server/src/**/*.ts')
  .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
  .toSorted()

const placed = [...roomFolders].map(([room, folder]) => ({ room, folder: `${folder}/` }))
/** The room of a file, and its path there. */
const placeOf = (path: string): { room: string; file: string } => {
  const found = placed.find(({ folder }) => path.startsWith(folder))
  return found ? { room: found.room, file: path.slice(found.folder.length) } : { room: 'process', file: path }
}

const importsOf = (path: string): Edge[] =>
  [...readFileSync(path, 'utf8').matchAll(specifier)].flatMap(([, spelled]) => {
    const target = spelled!.startsWith('#') ? `server/src/${spelled!.slice(1)}` : posix.join(dirname(path), spelled!)
    if (!target.startsWith('server/src/')) return []
    const [{ room: from }, { room: to, file }] = [placeOf(path), placeOf(target)]
    return from === to || to === 'process' ? [] : [{ from, to, file }]
  })

/** The edges that are, each once. */
export const edges: readonly Edge[] = [
  ...new Map(product.flatMap(importsOf).map((edge) => [`${edge.from} ${edge.to} ${edge.file}`, edge])).values(),
]

/** Statements name tables after these words. */
const named = /\b(?:from|join|into|update|table)\s+(?:only\s+)?([a-z_]+)/g
const tables = new Set([...readFileSync('db/schema.sql', 'utf8').matchAll(/^create table (\w+)/gm)].map(([, name]) => name!))

/** Which tables the statements of each room name. */
export const tablesOf: ReadonlyMap<string, readonly string[]> = new Map(
  placed.map(({ room, folder }) => {
    const texts = product
      .filter((path) => path.startsWith(folder) && path.endsWith('-queries.ts'))
      .map((path) => readFileSync(path, 'utf8'))
    const found = texts.flatMap((text) => [...text.matchAll(named)].map(([, name]) => name!)).filter((name) => tables.has(name))
    return [room, [...new Set(found)].toSorted()]
  }),
)
