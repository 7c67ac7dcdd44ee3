import type { Stats } from 'node:fs'
import { lstat, readFile, rm, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { authorizedKeysLine } from '@gatehouse/contract/authorized-keys'
import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import { isFull, readIfThere, writeAtomically } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { requireRootsOwn } from './roots-own.ts'
import { fingerprintOf } from './sessions.ts'

const header = (generation: number): string => `# Written by gatehouse-agent. Changes by hand are undone.\n# generation ${generation}\n`

/** Said in the file for whoever looks at it: which grant a key is there for. Ids only, nothing that anybody chose. */
const commentOf = ({ holders: [first, ...others] }: DesiredKey): string =>
  `gatehouse:${first!.grant_id ?? first!.ssh_key_id}${others.length === 0 ? '' : `.and-${others.length}-more`}`

export const keysText = (keys: readonly DesiredKey[], generation: number): string =>
  header(generation) + keys.map((key) => `${authorizedKeysLine(key, commentOf(key))}\n`).join('')

const withEnd = /^(?:[a-z-]+,)*expiry-time="(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z"(?:,[a-z-]+)* \S+ (\S+) /gm

/** Fingerprints of the keys in a file whose time is over: the second that is named is the last. */
export const overIn = (text: string, now: Date): ReadonlySet<string> => {
  const over = [...text.matchAll(withEnd)].filter(([, year, month, day, hour, minute, second]) => {
    const last = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`)
    return last + 1000 <= now.getTime()
  })
  return new Set(over.map((found) => fingerprintOf(found[7]!)))
}

const entriesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

/** Whether there is something in a file that is not to be in it any more; one that cannot be read may hold anything. */
const holdsMore = async (path: string, text: string): Promise<boolean> => {
  const wanted = new Set(entriesOf(text))
  const found = await readIfThere(path).catch(() => 'anything')
  return entriesOf(found ?? '').some((line) => !wanted.has(line))
}

/** For the account to read, since sshd reads it as the account, and for no other: who is in where is nobody else's to know. For root to write. */
const mode = 0o640
export const writeKeysFile = async (path: string, text: string, gid: number): Promise<void> => {
  await requireRootsOwn(dirname(path))
  try {
    await writeAtomically(path, text, mode, gid)
  } catch (error) {
    // To take something away needs no space: where the new text cannot be had, the old one goes, and with it perhaps more than should.
    if (await holdsMore(path, text))
      await rm(path, { force: true })
        .catch(() => truncate(path))
        .catch(() => {})
    throw new HandsFailed(isFull(error) ? 'disk_full' : 'keys_not_written', error)
  }
}

/** Nobody but root can have written it. */
const isOurs = (found: Stats): boolean => found.isFile() && found.uid === 0 && (found.mode & 0o7022) === 0 && found.nlink === 1
const isAsWritten = (found: Stats, gid: number): boolean => isOurs(found) && found.gid === gid && (found.mode & 0o7777) === mode

/** The file itself says how new it is: a state folder that was brought back from a copy does not know what came after the copy. */
export const requireNotLater = async (path: string, generation: number): Promise<void> => {
  const found = await lstat(path).catch(() => undefined)
  // What is not ours says nothing: a link may lead to what the account itself has written.
  if (!found || !isOurs(found)) return
  const [first, second] = (await readFile(path, 'utf8')).split('\n', 2)
  const [, written] = /^# generation (\d{1,16})$/.exec(second ?? '') ?? []
  if (header(Number(written)).startsWith(`${first}\n`) && Number(written) > generation) throw new HandsFailed('later_set_in_force')
}

/** `former`: as an earlier version of ours wrote it, for everybody to read; nobody changed it. */
export type Drift = 'changed' | 'missing' | 'not_ours' | 'former' | null

/** How a file differs from what was written; null: not at all. */
export const driftOf = async (path: string, text: string, gid: number): Promise<Drift> => {
  try {
    const found = await lstat(path)
    const is_former = isOurs(found) && found.gid === 0 && (found.mode & 0o7777) === 0o644
    if (!isAsWritten(found, gid) && !is_former) return 'not_ours'
    if ((await readFile(path, 'utf8')) !== text) return 'changed'
    return is_former ? 'former' : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
}
