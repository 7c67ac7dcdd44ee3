import { mkdir, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskParams } from '@gatehouse/contract/node-tasks'
import { keepWritten, readIfThere } from '../atomic-file.ts'
import { HandsFailed } from '../hands.ts'
import { accountGroupOf, type Groups, unitOf } from './cgroup.ts'
import { boundsFileOf, type Layout, requireUsername } from './layout.ts'
import { must, run } from './system.ts'

/** What the sessions of an account may use. */
export interface Terms {
  /** Which devices they may open beside those that everybody may (`/dev/null` and the like); null: all that the machine lets them. */
  readonly devices: readonly string[] | null
  /** null: as many as come. */
  readonly sessions_max: number | null
  readonly tasks_max: number
  /** null: as much as there is. */
  readonly memory_max_bytes: number | null
}

/** As a task says them. One of a control plane that is older than these says nothing, and all is as it was before there were any. */
export const termsIn = (params: object): Terms => {
  const { devices, bounds } = params as Pick<TaskParams<'allocation.provision_user'>, 'devices' | 'bounds'>
  return {
    devices: devices ?? null,
    sessions_max: bounds?.sessions_max ?? null,
    tasks_max: bounds?.tasks_max ?? 4096,
    memory_max_bytes: bounds?.memory_max_bytes ?? null,
  }
}

const termsFileOf = ({ sessions_dir }: Layout, username: string): string => join(sessions_dir, `.terms-${requireUsername(username)}`)

/** A driver that was loaded again may have given a device another number, and it is the number that the kernel goes by. */
const numberOf = async (device: string): Promise<string> => {
  const found = await stat(device).catch(() => undefined)
  return found?.isCharacterDevice() ? `${device} ${found.rdev}` : `${device} none`
}

const propertiesOf = ({ devices, tasks_max, memory_max_bytes }: Terms): string[] => [
  `TasksMax=${tasks_max}`,
  `MemoryMax=${memory_max_bytes ?? 'infinity'}`,
  // First none, then each: what is set is added to what was.
  'DeviceAllow=',
  // All is said in so many words: a filter that was once there stays where nothing is said (seen with systemd 252).
  ...(devices?.map((device) => `DeviceAllow=${device} rw`) ?? ['DeviceAllow=char-* rwm', 'DeviceAllow=block-* rwm']),
  `DevicePolicy=${devices === null ? 'auto' : 'closed'}`,
]

const setPlain = async (group: string, { tasks_max, memory_max_bytes }: Terms): Promise<void> => {
  await mkdir(group, { recursive: true })
  // Where the kernel has no such bound there is no such file; the status says so.
  await writeFile(join(group, 'pids.max'), `${tasks_max}`, { flag: 'r+' }).catch(() => {})
  await writeFile(join(group, 'memory.max'), `${memory_max_bytes ?? 'max'}`, { flag: 'r+' }).catch(() => {})
}

/** Puts them in force for what runs and for what comes, also after a reboot. What is so already is not touched. */
export const applyTerms = async (layout: Layout, groups: Groups | null, username: string, terms: Terms): Promise<void> => {
  const { devices, sessions_max, tasks_max } = terms
  if (devices?.some((device) => !/^\/dev\/[A-Za-z0-9/_.-]+$/.test(device) || device.includes('..'))) throw new HandsFailed('no_such_device')
  // Somebody may have taken it away.
  await mkdir(layout.sessions_dir, { recursive: true, mode: 0o700 })
  await keepWritten(boundsFileOf(layout, username), `${sessions_max ?? 0} ${tasks_max}\n`)
  if (groups === null) return
  const numbers = await Promise.all((devices ?? []).map(numberOf))
  const text = `${JSON.stringify({ terms, numbers, by: groups.path })}\n`
  const path = termsFileOf(layout, username)
  if ((await readIfThere(path)) === text) return
  if (groups.is_systemd) await must('bounds_not_set', '/usr/bin/systemctl', ['set-property', unitOf(username), ...propertiesOf(terms)])
  else await setPlain(accountGroupOf(groups, username), terms)
  await keepWritten(path, text)
}

/** When nothing runs as the account any more. */
export const forgetTerms = async (layout: Layout, groups: Groups | null, username: string): Promise<void> => {
  for (const path of [boundsFileOf(layout, username), termsFileOf(layout, username)]) await rm(path, { force: true })
  if (groups === null) return
  if (!groups.is_systemd) {
    await rmdir(accountGroupOf(groups, username)).catch(() => {})
    return
  }
  await run('/usr/bin/systemctl', ['stop', unitOf(username)])
  await run('/usr/bin/systemctl', ['reset-failed', unitOf(username)])
  await rm(`/etc/systemd/system.control/${unitOf(username)}.d`, { recursive: true, force: true })
}
