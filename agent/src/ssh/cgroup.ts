import { access, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keepWritten } from '../atomic-file.ts'
import { groupsFileOf, type Layout } from './layout.ts'

/** The unit that is the group of an account's sessions, where systemd makes it. */
export const unitOf = (username: string): string => `gatehouse-account@${username}.service`

/** Below which accounts have their groups, and by whom those are made. */
export interface Groups {
  readonly path: string
  readonly is_systemd: boolean
}

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

const mountOfGroups = async (): Promise<string | null> => {
  const mount = (await read('/proc/self/mounts')).split('\n').find((line) => line.split(' ')[2] === 'cgroup2')
  return mount?.split(' ')[1] ?? null
}

/** Below the agent's own group, wherever the system has put it: for machines without systemd. */
export const ownGroups = async (): Promise<string | null> => {
  const mount = await mountOfGroups()
  const group = /^0::(\/.*)$/m.exec(await read('/proc/self/cgroup'))?.[1]
  return mount === null || group === undefined ? null : join(mount, group, 'gatehouse-sessions')
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const unit_folders = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
]
const isSystemd = (): Promise<boolean> => isThere('/run/systemd/system')

/** Whether the units that sessions live in are installed where systemd runs; where it does not, none are needed. */
export const areUnitsThere = async ({ cgroup_dir }: Layout): Promise<boolean> => {
  if (cgroup_dir !== 'slice' || !(await isSystemd())) return true
  return (await Promise.all(unit_folders.map((folder) => isThere(join(folder, unitOf('')))))).includes(true)
}

/** systemd's own groups are not ours to try; any that is there says what the kernel can do. */
const inSlice = async (layout: Layout): Promise<Groups | null> => {
  const mount = await mountOfGroups()
  if (mount === null || !(await areUnitsThere(layout))) return null
  return (await isThere(join(mount, 'init.scope', 'cgroup.kill'))) ? { path: join(mount, 'gatehouse.slice'), is_systemd: true } : null
}

/** Whether groups can be made there, and ended at a stroke: systems before Linux 5.14 cannot do that. */
const isOfUse = async (groups: string): Promise<boolean> => {
  const trial = join(groups, `trial-${process.pid}`)
  try {
    await mkdir(trial, { recursive: true })
    await access(join(trial, 'cgroup.kill'))
    return true
  } catch {
    return false
  } finally {
    await rmdir(trial).catch(() => {})
  }
}

const groupsWanted = async (layout: Layout): Promise<Groups | null> => {
  const { cgroup_dir } = layout
  // Not below the agent's instead: what the agent is kept from, they would be kept from.
  if (cgroup_dir === 'slice' && (await isSystemd())) return inSlice(layout)
  const path = cgroup_dir === 'own' || cgroup_dir === 'slice' ? await ownGroups() : cgroup_dir
  return path !== null && (await isOfUse(path)) ? { path, is_systemd: false } : null
}

/** Finds out where sessions get their groups, and lets the hook know. Without groups sessions are still told apart, by their parents. */
export const settleGroups = async (layout: Layout): Promise<Groups | null> => {
  const groups = await groupsWanted(layout)
  const text = groups === null ? '\n' : `${groups.path}\n${groups.is_systemd ? 'systemd\n' : ''}`
  // Who cannot be told of them has none; no start of the agent waits for room to tell him.
  return keepWritten(groupsFileOf(layout), text).then(
    () => groups,
    () => null,
  )
}

export const accountGroupOf = ({ path, is_systemd }: Groups, username: string): string =>
  join(path, is_systemd ? unitOf(username) : username)

export const pidsIn = async (group: string): Promise<number[]> =>
  (await read(join(group, 'cgroup.procs'))).split('\n').filter(Boolean).map(Number)

/** All in it and below it, at a stroke; whether there is such a group. */
export const killGroup = (group: string): Promise<boolean> =>
  writeFile(join(group, 'cgroup.kill'), '1').then(
    () => true,
    () => false,
  )

/** Whether the kernel can hold a group to a bound on its memory: by this hierarchy, or by systemd in one of the older kind beside it. */
export const isMemoryBounded = async (groups: Groups | null): Promise<boolean> => {
  const mount = await mountOfGroups()
  if (groups === null || mount === null) return false
  if ((await read(join(mount, 'cgroup.controllers'))).trim().split(' ').includes('memory')) return true
  return groups.is_systemd && (await isThere('/sys/fs/cgroup/memory/system.slice'))
}

/** A group that is older than any login takes, with nothing in it. */
const unused_ms = 60_000

/** Groups that the hook made and no session of which is known, because it was refused. */
export const removeUnusedGroups = async (account_group: string, isKnown: (session_id: string) => boolean): Promise<void> => {
  const names = (await readdir(account_group, { withFileTypes: true }).catch(() => [])).filter((each) => each.isDirectory())
  for (const { name } of names.filter((each) => !isKnown(each.name))) {
    const path = join(account_group, name)
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.ctimeMs ?? Date.now())
    // Where something runs in it, this fails.
    if (age > unused_ms) await rmdir(path).catch(() => {})
  }
}
