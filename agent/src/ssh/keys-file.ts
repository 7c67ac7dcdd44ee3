import { lstat, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { authorizedKeysLine } from '@gatehouse/contract/authorized-keys'
import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import { writeAtomically } from '../atomic-file.ts'
import { requireRootsOwn } from './roots-own.ts'

const header = '# Written by gatehouse-agent. Changes by hand are undone.\n'

/** Said in the file for whoever looks at it: which grant a key is there for. Ids only, nothing that anybody chose. */
const commentOf = ({ holders: [first, ...others] }: DesiredKey): string =>
  `gatehouse:${first!.grant_id ?? first!.ssh_key_id}${others.length === 0 ? '' : `.and-${others.length}-more`}`

export const keysText = (keys: readonly DesiredKey[]): string =>
  header + keys.map((key) => `${authorizedKeysLine(key, commentOf(key))}\n`).join('')

/** For everybody to read, for root to write: sshd reads it as the account. */
const mode = 0o644
export const writeKeysFile = async (path: string, text: string): Promise<void> => {
  await requireRootsOwn(dirname(path))
  await writeAtomically(path, text, mode)
}

export type Drift = 'changed' | 'missing' | 'not_ours' | null

/** How a file differs from what was written; null: not at all. */
export const driftOf = async (path: string, text: string): Promise<Drift> => {
  try {
    const found = await lstat(path)
    if (!found.isFile() || found.uid !== 0 || found.gid !== 0 || (found.mode & 0o7777) !== mode || found.nlink !== 1) return 'not_ours'
    return (await readFile(path, 'utf8')) === text ? null : 'changed'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
}
