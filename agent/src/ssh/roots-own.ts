import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HandsFailed } from '../hands.ts'

/** That nobody but root can put something else in this folder's place: neither it nor one above it is a link, or open to others. */
export const requireRootsOwn = async (folder: string): Promise<void> => {
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) throw new HandsFailed('keys_folder_not_ours')
  if (dirname(folder) !== folder) await requireRootsOwn(dirname(folder))
}
