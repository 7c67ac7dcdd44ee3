import { stat, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { killGroup } from './cgroup.ts'
import type { Layout } from './layout.ts'
import { allProcesses, endProcess, isRootsSshd, type Process, processOf, treeOf } from './processes.ts'
import { type EndedSession, isOfThisBoot, isOpen, markOf, mayBeOpen, type Session } from './sessions.ts'
import { processesOf, type Watch } from './watch.ts'

type Account = { readonly username: string; readonly uid: number }

/** Until nothing of it is left: what is being ended may just have started another. */
const endAll = async (session: Session): Promise<{ readonly count: number; readonly is_left: boolean }> => {
  const ended = new Set<number>()
  const deadline = Date.now() + 1500
  for (;;) {
    const pids = await processesOf(session, allProcesses)
    if (pids.length === 0 || Date.now() > deadline) return { count: ended.size, is_left: pids.length > 0 }
    for (const pid of pids) ended.add(pid)
    if (session.cgroup === null || !(await killGroup(session.cgroup))) for (const pid of pids) endProcess(pid)
    await pause(10)
  }
}

/**
 * Noted before the first is ended: if we die in the midst, the next of us knows that it was we who ended it. Returns whether it had been
 * noted before. No end waits for room to note it.
 */
const markEnding = async (layout: Layout, session: Session): Promise<boolean> => {
  const mark = markOf(layout, session, 'ending')
  const was = await stat(mark).then(
    () => true,
    () => false,
  )
  if (!was && (await mayBeOpen(session))) await writeFile(mark, '', { mode: 0o600 }).catch(() => {})
  return was
}

/** Ends these sessions with all that they started, and no others. What ran no more is not among those that are returned. */
export const endSessions = async (layout: Layout, watch: Watch, { uid }: Account, ending: readonly Session[]): Promise<EndedSession[]> => {
  if (ending.length === 0) return []
  const wasEnding = await Promise.all(ending.map((session) => markEnding(layout, session)))
  const ends = await Promise.all(ending.map(endAll))
  // A group holds all that came from it, so nothing is in doubt but what was never in one: it may be anybody's, is left alone, and told.
  const is_any_beside = (await watch.besideOf(uid)).length > 0
  return ending.flatMap(({ session_id, fingerprint, cgroup }, index) => {
    const { count, is_left } = ends[index]!
    const may_have_left_processes = is_any_beside || is_left
    return count > 0 || wasEnding[index] || (cgroup === null && may_have_left_processes)
      ? [{ session_id, fingerprint, processes_ended: count, may_have_left_processes }]
      : []
  })
}

/**
 * Whether something that a session began may still run. Where it had no group, what it left behind looks like anybody's, and the session
 * stays known for as long as there is something of that kind.
 */
export const mayRun = async (watch: Watch, uid: number | undefined, session: Session): Promise<boolean> => {
  if (session.cgroup !== null) return mayBeOpen(session)
  if (await isOpen(session)) return true
  if (uid === undefined || !(await isOfThisBoot(session))) return false
  return (await watch.besideOf(uid)).length > 0
}

/** Connections of the account that the hook has not written down, because it could not be run: nobody answers for them, so they end. */
export const endUnwritten = async (watch: Watch, { uid }: Account): Promise<number> => {
  const serving = new Map<number, Process>()
  for (const { parent } of await watch.besideOf(uid)) {
    const found = processOf(parent)
    if (found && (await isRootsSshd(found))) serving.set(parent, found)
  }
  if (serving.size === 0) return 0
  const all = await allProcesses()
  for (const pid of serving.keys()) for (const each of treeOf(pid, all)) endProcess(each.pid)
  return serving.size
}
