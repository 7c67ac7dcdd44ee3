import { randomBytes } from 'node:crypto'
import { chmod, chown, lstat, readdir, readFile, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { HandsFailed, Interrupted, type Leftover } from '../hands.ts'
import { type Account, alone, change, removeGroup } from './account.ts'
import { accountGroupOf, type Groups, killGroup } from './cgroup.ts'
import { isUsername, type Layout } from './layout.ts'
import { removeLeftovers, removeTree } from './leftovers.ts'
import { forgetPrevention, type Plan, removePlans } from './plans.ts'
import { allProcesses, endProcess } from './processes.ts'
import { forgetTerms } from './terms.ts'
import { removeMountsOf } from './users-mounts.ts'

/** In which group of the system a process is. */
const groupOf = async (pid: number): Promise<string> => {
  const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
  return /^0::(\/.*)$/m.exec(cgroup)?.[1] ?? '/'
}

const hold = (pid: number): void => {
  try {
    process.kill(pid, 'SIGSTOP')
  } catch {
    // Gone.
  }
}

/** All that runs as the account, whoever started it. Returns how many ran outside of the account's sessions: nobody came in for them. */
const endProcessesOf = async (layout: Layout, groups: Groups | null, { username, uid }: Account): Promise<number> => {
  // Never by a number that is not of ours.
  if (!(uid >= layout.first_uid && layout.first_uid >= 1000)) throw new HandsFailed('not_a_managed_account')
  const own = groups && accountGroupOf(groups, username)
  const outside = new Set<number>()
  for (let round = 0; round < 200; round += 1) {
    // At a stroke, so that none of it can start another meanwhile.
    if (own !== null) await killGroup(own)
    const theirs = (await allProcesses()).filter((each) => each.uid === uid)
    if (theirs.length === 0) return outside.size
    const strays: number[] = []
    for (const { pid } of theirs) if (own === null || !`${await groupOf(pid)}/`.includes(`/${basename(own)}/`)) strays.push(pid)
    // What is in no group of ours, by root, as often as it takes: first all are held, so that none can start another while the next is found.
    for (const pid of strays) {
      hold(pid)
      outside.add(pid)
    }
    for (const pid of strays) endProcess(pid)
    await pause(20)
  }
  throw new HandsFailed('processes_not_ended')
}

const put_away = /^\.gatehouse-removed-(gh-[a-z0-9]{6,20})-[0-9a-f]{16}$/

/** Homes that were put away and are not removed yet, of one account or of all. */
export const homesPutAway = async ({ homes_dir }: Layout, username?: string): Promise<string[]> => {
  const names = await readdir(homes_dir).catch(() => [])
  const isSought = (name: string) => {
    const [, of] = put_away.exec(name) ?? []
    return of !== undefined && isUsername(of) && (username === undefined || of === username)
  }
  return names.filter(isSought).map((name) => join(homes_dir, name))
}

/** Under another name, and root's: from here on it is nobody's home, however long it takes to remove. Beside it, since that needs no room. */
const putAwayHome = async ({ homes_dir }: Layout, { username, home }: Account): Promise<void> => {
  // The account's own word for its home is not taken.
  if (home !== join(homes_dir, username)) return
  const found = await lstat(home).catch(() => undefined)
  if (!found) return
  const away = join(homes_dir, `.gatehouse-removed-${username}-${randomBytes(8).toString('hex')}`)
  await rename(home, away).catch((error: unknown) => {
    throw new HandsFailed('files_not_removed', error)
  })
  if (!found.isDirectory()) return
  await chown(away, 0, 0)
  await chmod(away, 0o700)
}

/** Behind everything else that the machine does; what is stopped in the midst is gone on with by whoever comes next. */
export const removeHomes = async (layout: Layout, username: string | undefined, signal: AbortSignal): Promise<void> => {
  for (const path of await homesPutAway(layout, username)) {
    await removeTree(path, { is_behind: true, timeout_ms: 3_600_000, signal }).catch((error: unknown) => {
      throw signal.aborted ? new Interrupted() : error
    })
  }
}

const saidOf = ({ kind, path }: Plan): Leftover => ({ kind, name: basename(path), is_ended: true })

/** After this nothing of it runs, and nobody has its name, its number or its home. Returns what was found that nobody had come in for. */
export const removeAccount = async (layout: Layout, groups: Groups | null, account: Account): Promise<Leftover[]> => {
  const { username, uid, gid } = account
  const plans = await removePlans(account)
  let processes = await endProcessesOf(layout, groups, account)
  // Locked before the processes end for the last time: none can begin through another door meanwhile.
  await alone(() => change('account_not_locked', '/usr/sbin/usermod', ['--expiredate', '1', '--shell', '/usr/sbin/nologin', username]))
  // A plan may have been made by what ran until now.
  plans.push(...(await removePlans(account)))
  processes += await endProcessesOf(layout, groups, account)
  await removeMountsOf(groups, uid)
  // Before the name is gone: a crash in between must find its way back here.
  await putAwayHome(layout, account)
  await removeLeftovers({ uid, gid: gid >= layout.first_uid ? gid : null })
  await forgetTerms(layout, groups, username)
  await alone(async () => {
    await change('account_not_removed', '/usr/sbin/userdel', [username])
    await removeGroup(layout, username)
  })
  await forgetPrevention(layout, account)
  return [...plans.map(saidOf), ...(processes === 0 ? [] : [{ kind: 'process' as const, count: processes, is_ended: true }])]
}
