import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isAlive } from './alive.ts'
import type { Template } from './template.ts'

const run = promisify(execFile)

// Long enough for a day's work on several branches; each cluster takes tens of megabytes.
const keptHours = 24

/** What `startPostgres` needs to find a cluster complete: see `server/src/ground/db/embedded/`. */
const clusterFiles = ['data', 'data.passwords.json']
const templateFile = 'template.json'

/**
 * Clusters that were initialised, migrated and stopped in good order, one folder per key. A run works on a copy, so the cache is never
 * written to by PostgreSQL. A folder gets its name last: a run that was killed leaves only something to sweep.
 */
export const clusterCache = (folder: string) => {
  const entry = (key: string) => join(folder, key)

  /** Copies the cluster into the run's folder; undefined where there is none, or none that can be read. */
  const restore = async (key: string, into: string): Promise<Template | undefined> => {
    try {
      const template = JSON.parse(await readFile(join(entry(key), templateFile), 'utf8')) as Template
      await run('cp', ['-a', ...clusterFiles.map((name) => join(entry(key), name)), into])
      // Says when it was last used.
      await utimes(entry(key), new Date(), new Date())
      return template
    } catch {
      // Another run may have swept it in the middle of the copy.
      for (const name of clusterFiles) await rm(join(into, name), { recursive: true, force: true })
      return undefined
    }
  }

  /** Keeps a copy of a cluster that is stopped. A cache that cannot be written to costs time and nothing else. */
  const store = async (key: string, from: string, template: Template): Promise<void> => {
    let half: string | undefined
    try {
      await mkdir(folder, { recursive: true })
      half = await mkdtemp(join(folder, `.new-${process.pid}-`))
      await run('cp', ['-a', ...clusterFiles.map((name) => join(from, name)), half])
      await writeFile(join(half, templateFile), JSON.stringify(template), { mode: 0o600 })
      await rename(half, entry(key))
    } catch {
      if (half) await rm(half, { recursive: true, force: true }).catch(() => {})
    }
  }

  /** Removes what killed runs left, and what nobody has used for a day. */
  const sweep = async (): Promise<void> => {
    for (const name of await readdir(folder).catch(() => [])) {
      const writer = /^\.new-(\d+)-/.exec(name)?.[1]
      const used = (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0
      const isStale = writer ? !isAlive(Number(writer)) : Date.now() - used > keptHours * 3_600_000
      if (isStale) await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
    }
  }
  return { restore, store, sweep }
}
