import { readFile } from 'node:fs/promises'
import type { Groups } from './cgroup.ts'
import { run } from './system.ts'

/** A blank in a name is written as a number there. */
const plain = (path: string): string => path.replace(/\\([0-7]{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))

/** What an account has mounted by itself: file systems that one of its programs served. The innermost first. */
export const mountsOf = (mountinfo: string, uid: number): string[] =>
  mountinfo
    .split('\n')
    .flatMap((line) => {
      const [place, kind] = line.split(' - ')
      const [type = '', , options = ''] = (kind ?? '').split(' ')
      return type.startsWith('fuse') && options.split(',').includes(`user_id=${uid}`) ? [plain(place!.split(' ')[4]!)] : []
    })
    .reverse()

/**
 * A mount outlives the program that served it, and nothing below it can be removed. Where systemd runs it takes them away: what the agent itself
 * did would be so for the agent alone.
 */
export const removeMountsOf = async (groups: Groups | null, uid: number): Promise<void> => {
  for (const path of mountsOf(await readFile('/proc/self/mountinfo', 'utf8'), uid)) {
    const [program, ...args] = [
      ...(groups?.is_systemd ? ['/usr/bin/systemd-run', '--quiet', '--wait', '--collect'] : []),
      '/usr/bin/umount',
      '-l',
      '--',
      path,
    ]
    await run(program!, args)
  }
}
