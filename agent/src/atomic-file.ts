import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** That there is no room for anything, or none for us. */
export const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '')

/** What a file name of ours that is not finished ends in. */
const unfinished = /\.[0-9a-f]{16}\.part$/

const sync = async (folder: string): Promise<void> => {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The whole new text or the whole old one, whenever the power goes; where nothing else is said, nobody else may read it. */
export const writeAtomically = async (path: string, text: string, mode = 0o600, gid?: number): Promise<void> => {
  const part = `${path}.${randomBytes(8).toString('hex')}.part`
  const handle = await open(part, 'wx', 0o600)
  try {
    if (gid !== undefined) await handle.chown(0, gid)
    // The mode of a new file is cut by the umask.
    if (mode !== 0o600) await handle.chmod(mode)
    await handle.writeFile(text)
    await handle.sync()
    await rename(part, path)
  } catch (error) {
    // A full disk must not fill up with halves.
    await rm(part, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  await sync(dirname(path))
}

export const readIfThere = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** The same where it says something else so far: what is right already needs no room, which there may not be. */
export const keepWritten = async (path: string, text: string): Promise<void> => {
  if ((await readIfThere(path)) !== text) await writeAtomically(path, text)
}

export const moveDurably = async (from: string, to: string): Promise<void> => {
  await rename(from, to)
  await sync(dirname(to))
}

export const removeDurably = async (path: string): Promise<void> => {
  await rm(path, { force: true })
  await sync(dirname(path))
}

/** A folder for us alone. One that others may enter is refused rather than tightened: what lies there may be theirs. */
export const ownFolder = async (path: string): Promise<void> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const { mode, uid } = await lstat(path).then((found) => {
    if (!found.isDirectory()) throw new Error(`${path} is not a folder`)
    return found
  })
  if (uid !== process.geteuid?.()) throw new Error(`${path} belongs to somebody else`)
  if ((mode & 0o077) !== 0) throw new Error(`${path} is open to others; it must be 0700`)
}

/** The names in a folder, after taking away what a crash left half written. */
export const namesIn = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder)
  for (const name of names.filter((each) => unfinished.test(each))) await rm(join(folder, name), { force: true })
  return names.filter((name) => !unfinished.test(name)).sort()
}
