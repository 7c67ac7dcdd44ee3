import { type FSWatcher, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

export type Watched = { stop: () => void }

// Editors write backups, swap files and probes beside the file. Tests are no part of the server.
const isSource = (name: string) => /^[^.].*\.(ts|json|sql)$/.test(name) && !name.endsWith('.test.ts')

/** Reports each source file that is written, made, renamed or removed under the folders. One inotify watch per folder, none per file. */
export const watchFolders = (folders: readonly string[], changed: (file: string) => void): Watched => {
  const watchers = new Map<string, FSWatcher>()
  const drop = (folder: string) => {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue
      watcher.close()
      watchers.delete(path)
    }
  }
  const cover = (folder: string, isNew: boolean) => {
    const watcher = watchOne(folder, (event, name) => {
      if (name === null) return
      const path = join(folder, name)
      if (isSource(name)) return changed(path)
      if (event === 'change') return
      // A folder that was made again has another inode, so the watch that it had is dead.
      drop(path)
      if (isFolder(folder, name)) coverIfThere(path)
    })
    watchers.set(
      folder,
      watcher.on('error', () => drop(folder)),
    )
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) cover(path, isNew)
      // Written before the new folder could be watched.
      else if (isNew && isSource(entry.name)) changed(path)
    }
  }
  /** A new folder may be gone again before it can be watched: a checkout or an editor does that. */
  const coverIfThere = (folder: string) => {
    try {
      cover(folder, true)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      drop(folder)
    }
  }
  for (const folder of folders) cover(folder, false)
  return {
    stop: () => {
      for (const folder of folders) drop(folder)
    },
  }
}

const watchOne = (folder: string, listener: (event: string, name: string | null) => void): FSWatcher => {
  try {
    return watch(folder, listener)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EMFILE') throw error
    throw new StartRefused(`Files cannot be watched (${message}). Raise fs.inotify.max_user_watches or fs.inotify.max_user_instances.`)
  }
}

const isFolder = (parent: string, name: string): boolean => {
  try {
    return readdirSync(parent, { withFileTypes: true }).some((entry) => entry.name === name && entry.isDirectory())
  } catch {
    return false
  }
}
