import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { StartRefused } from './start-refused.ts'

/** Whom PostgreSQL runs as; empty means: as we are. */
export type RunAs = { uid: number; gid: number } | Record<string, never>

const isRoot = () => process.getuid?.() === 0

const nobody = (): RunAs => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (!uid || !gid) {
    throw new StartRefused(
      'PostgreSQL refuses to run as root and this system has no user "nobody". Start as an ordinary user, or set DATABASE_URL.',
    )
  }
  return { uid: Number(uid), gid: Number(gid) }
}

/** PostgreSQL refuses uid 0. Existing data keeps its owner, so that root may start what a person once started. */
export const runAsFor = (dataDir: string): RunAs => {
  if (!isRoot()) return {}
  const owner = statSync(dataDir, { throwIfNoEntry: false })
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody()
}

const attempt = (as: RunAs, command: string, args: string[]) => {
  const result = spawnSync(command, args, { ...as, cwd: '/', encoding: 'utf8', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } })
  if ((result.error as NodeJS.ErrnoException | undefined)?.code === 'EPERM') {
    throw new StartRefused(
      'PostgreSQL refuses to run as root and this process may not become another user. Start as an ordinary user, or set DATABASE_URL.',
    )
  }
  return result
}

/** Tried rather than computed from modes: ACLs, mount options and namespaces have a say too. */
export const canEnter = (as: RunAs, folder: string): boolean => attempt(as, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]).status === 0

/** What the binary says of itself, or why it does not run. */
export const versionOf = (as: RunAs, binDir: string): { major: number } | { why: string } => {
  const { status, stdout, stderr, error } = attempt(as, `${binDir}/postgres`, ['--version'])
  const major = Number(/PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1])
  return status === 0 && major ? { major } : { why: (stderr || error?.message || 'it gave no version').trim().split('\n')[0]! }
}
