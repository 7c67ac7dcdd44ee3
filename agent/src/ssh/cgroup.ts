import { access, mkdir, readFile, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { keepWritten } from '../atomic-file.ts'
import { groupsFileOf, type Layout } from './layout.ts'

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

/** Below the agent's own group, wherever the system has put it: that one is ours to divide. */
export const ownGroups = async (): Promise<string | null> => {
  const mount = (await read('/proc/self/mounts')).split('\n').find((line) => line.split(' ')[2] === 'cgroup2')
  const group = /^0::(\/.*)$/m.exec(await read('/proc/self/cgroup'))?.[1]
  return mount === undefined || group === undefined ? null : join(mount.split(' ')[1]!, group, 'gatehouse-sessions')
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

/** Finds out where sessions get their groups, and lets the hook know. Without groups sessions are still told apart, by their parents. */
export const settleGroups = async (layout: Layout): Promise<string | null> => {
  const wanted = layout.cgroup_dir === 'own' ? await ownGroups() : layout.cgroup_dir
  const groups = wanted !== null && (await isOfUse(wanted)) ? wanted : null
  // Who cannot be told of them has none; no start of the agent waits for room to tell him.
  return keepWritten(groupsFileOf(layout), `${groups ?? ''}\n`).then(
    () => groups,
    () => null,
  )
}
