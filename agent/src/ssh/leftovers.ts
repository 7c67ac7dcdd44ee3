import { lstat, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { must, run } from './system.ts'

/** Not by walking there ourselves: whoever may write in it could put a link in our way. `is_behind`: nothing else of the machine waits for it. */
export const removeTree = (path: string, { is_behind = false, ...how }: { is_behind?: boolean } & Parameters<typeof run>[2] = {}) => {
  const removing = ['/usr/bin/rm', '-rf', '--one-file-system', '--', path]
  const [program, ...args] = is_behind ? ['/usr/bin/nice', '-n', '19', '/usr/bin/ionice', '-c', '3', ...removing] : removing
  return must('files_not_removed', program!, args, how)
}

/** Where systems usually let everybody, or everybody through a program, leave something. */
const usual = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock', '/var/lock', '/var/crash', '/var/mail', '/var/spool/cron/atjobs']

const local = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'zfs', 'f2fs', 'tmpfs', 'overlay', 'bcachefs'])

/** What lies on this machine and can be written to. What another machine serves is not ours to search. */
export const localMounts = (mounts: string): string[] => {
  const found = mounts.split('\n').flatMap((line) => {
    const [, place, type, options] = line.split(' ')
    const may_be_written = options?.split(',').includes('rw') ?? false
    // A blank in a name is written as a number there.
    return local.has(type ?? '') && may_be_written
      ? [place!.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8)))]
      : []
  })
  return [...new Set(found)].filter((place) => !/^\/(proc|sys)(\/|$)/.test(place))
}

/** Nobody but root can put something else in its place: above it is nothing that others may write to, or only what keeps theirs apart. */
const isRootsWay = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined)
  const is_open = ((found?.mode ?? 0) & 0o022) !== 0 && ((found?.mode ?? 0) & 0o1000) === 0
  if (!found?.isDirectory() || found.uid !== 0 || is_open) return false
  return folder === '/' || isRootsWay(dirname(folder))
}

/** The folders in which everybody may leave something and only the owner takes it away, not too deep below where a disk begins. */
const openFolders = async (): Promise<string[]> => {
  const places = localMounts(await readFile('/proc/mounts', 'utf8'))
  const sought = ['-xdev', '-maxdepth', '4', '-type', 'd', '-uid', '0', '-perm', '-1002', '-print0']
  const found: string[] = []
  for (const place of places) found.push(...(await run('/usr/bin/find', [place, ...sought])).stdout.split('\0').filter(Boolean))
  const ways = await Promise.all(found.map(isRootsWay))
  return found.filter((_, index) => ways[index])
}

const spools = async (): Promise<string[]> => (await readdir('/var/spool').catch(() => [])).map((name) => join('/var/spool', name))

/**
 * Where everybody may write, an account leaves things behind: what is its own, or its group's. Looked for by a process that can be ended:
 * to look at a file may take for ever where its owner serves it.
 */
export const removeLeftovers = async ({ uid, gid }: { readonly uid: number; readonly gid: number | null }): Promise<void> => {
  const folders = [...new Set([...usual, ...(await spools()), ...(await openFolders())])]
  const whose = ['-uid', `${uid}`, ...(gid === null ? [] : ['-o', '-gid', `${gid}`])]
  const { stdout } = await run('/usr/bin/find', ['-H', ...folders, '-mindepth', '1', '-maxdepth', '1', '(', ...whose, ')', '-print0'])
  for (const path of stdout.split('\0').filter(Boolean)) await removeTree(path)
}
