// Programs that tests start many times, each in one file: a server process loads 1 900 modules in 0.8 s, and its bundle in 0.25 s.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { codeHash } from '../tools/evidence/code-hash.ts'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'node_modules/.cache/gatehouse/bundles')
const sources = ['contract/src', 'server/src', 'agent/src', 'test', 'examples', 'server/package.json', 'package-lock.json']

const programs = {
  'faulty-server': 'test/faults/entry.ts',
  server: 'server/src/main.ts',
  operate: 'server/src/process/operate.ts',
  'mortal-agent': 'test/agent/mortal-agent.ts',
  controller: 'examples/controller/main.ts',
} as const

export type Program = keyof typeof programs

/** A module finds files beside itself, so it must go on believing that it lies where its source does. */
const places = /(?<![.\w$])(?:import\.meta\.(?:url|dirname)|__dirname|__filename)(?![\w$])/g
const keepPlaces: Plugin = {
  name: 'keep-places',
  transform: (code, id) => {
    if (!id.startsWith('/') || code.search(places) === -1 || /\b(?:const|let|var) __(?:dir|file)name\b/.test(code)) return null
    const named: Record<string, string> = {
      'import.meta.url': pathToFileURL(id).href,
      'import.meta.dirname': dirname(id),
      __dirname: dirname(id),
      __filename: id,
    }
    return code.replace(places, (place) => JSON.stringify(named[place]))
  },
}

const build = async (wanted: string) => {
  mkdirSync(folder, { recursive: true })
  const made = mkdtempSync(join(folder, 'making-'))
  const bundle = await rolldown({
    input: Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, join(root, file)])),
    platform: 'node',
    plugins: [keepPlaces],
  })
  await bundle.write({ dir: made, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  try {
    renameSync(made, wanted)
  } catch (error) {
    // Another worker was quicker; its bundles have the same content.
    rmSync(made, { recursive: true, force: true })
    if (!existsSync(wanted)) throw error
  }
  forgetOld()
}

/** The bundles of earlier code; not all of them, because a campaign may still start processes from its own. */
const forgetOld = () => {
  const kept = readdirSync(folder).map((name) => ({ name, made_at: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
  for (const { name } of kept.toSorted((one, other) => other.made_at - one.made_at).slice(12))
    rmSync(join(folder, name), { recursive: true, force: true })
}

let made: Promise<string> | undefined

/** The folder of bundles of the code as it is now; made on first use and kept until the code changes. */
const current = async (): Promise<string> => {
  const wanted = join(folder, codeHash(sources, root))
  if (!existsSync(wanted)) await build(wanted)
  return wanted
}

/** The path of a program's bundle. */
export const bundleOf = async (program: Program): Promise<string> => {
  made ??= current()
  return join(await made, `${program}.mjs`)
}
