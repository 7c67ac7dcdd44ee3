import { createHash } from 'node:crypto'
import { readdir, readFile, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Layout } from './layout.ts'
import { allProcesses, allProcessesTogether, endProcess, isRootsSshd, type Process, processOf, treeOf } from './processes.ts'

/** A session as the hook wrote it down. */
export interface Session {
  readonly session_id: string
  readonly username: string
  readonly fingerprint: string
  readonly source_ip: string | null
  readonly started_at: string
  /** The process that serves the connection. */
  readonly monitor: { readonly pid: number; readonly started: string }
  /** In which run of the system it began. */
  readonly boot: string
  /** Its control group, if it has one. */
  readonly cgroup: string | null
}

export interface EndedSession {
  readonly session_id: string
  readonly fingerprint: string
  readonly processes_ended: number
  readonly may_have_left_processes: boolean
}

const name = /^(\d+)\.(\d+)\.([0-9a-f]{8})$/

export const fingerprintOf = (blob: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replaceAll('=', '')}`

const readSession = async ({ sessions_dir }: Layout, file: string): Promise<Session | undefined> => {
  const [, pid, started, boot] = name.exec(file) ?? []
  if (!pid || !started || !boot) return undefined
  const text = await readFile(join(sessions_dir, file), 'utf8').catch(() => '')
  const [username, type, blob, source, group, started_at] = text.split('\n')
  if (!username || !type || !blob || !group || !started_at) return undefined
  return {
    session_id: file,
    username,
    fingerprint: fingerprintOf(blob),
    source_ip: /^[0-9A-Fa-f.:]{2,45}$/.test(source ?? '') ? source! : null,
    started_at,
    monitor: { pid: Number(pid), started },
    boot,
    cgroup: group === 'none' ? null : group,
  }
}

export const readSessions = async (layout: Layout): Promise<Session[]> => {
  const files = await readdir(layout.sessions_dir).catch((error: NodeJS.ErrnoException) => {
    // Somebody took it away, and with it who came in by which key: the hook makes it again, and what is in unwritten ends.
    if (error.code !== 'ENOENT') throw error
    return []
  })
  const found = await Promise.all(files.map((file) => readSession(layout, file)))
  return found.filter((each) => each !== undefined)
}

const thisBoot = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).slice(0, 8)
export const isOfThisBoot = async ({ boot }: Session): Promise<boolean> => boot === (await thisBoot())

/** Whether the connection is still served. */
export const isOpen = async (session: Session): Promise<boolean> =>
  (await isOfThisBoot(session)) && (await processOf(session.monitor.pid))?.started === session.monitor.started

/** When it was last seen open: the time of its file, which is that of its beginning until somebody has looked. */
export const lastSeen = async ({ sessions_dir }: Layout, { session_id }: Session): Promise<number> =>
  (await stat(join(sessions_dir, session_id))).mtimeMs
export const noteSeen = ({ sessions_dir }: Layout, { session_id }: Session, now: Date): Promise<void> =>
  utimes(join(sessions_dir, session_id), now, now)

const pidsIn = async (cgroup: string): Promise<number[]> => {
  const text = await readFile(join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

/** All of a session that still runs, as far as it can be told. */
const processesOf = async (session: Session, all: readonly Process[]): Promise<readonly number[]> => {
  if (session.cgroup !== null) return pidsIn(session.cgroup)
  return (await isOpen(session)) ? treeOf(session.monitor.pid, all).map(({ pid }) => pid) : []
}

/** What runs as the account and belongs to none of these sessions. */
const runningBeside = async (uid: number, sessionsNow: () => Promise<readonly Session[]>, look = allProcesses): Promise<Process[]> => {
  // In this order: whoever runs as the account was written down before.
  const all = await look()
  const known = new Set((await Promise.all((await sessionsNow()).map((each) => processesOf(each, all)))).flat())
  return all.filter((each) => each.uid === uid && !known.has(each.pid))
}

const sessionsOf = async (layout: Layout, username: string): Promise<Session[]> =>
  (await readSessions(layout)).filter((session) => session.username === username)

/**
 * Whether something that a session began may still run. Where it had no group, what it left behind looks like anybody's, and the session
 * stays known for as long as there is something of that kind.
 */
export const mayRun = async (uid: number | undefined, session: Session, isAnyBeside: () => Promise<boolean>): Promise<boolean> => {
  if (session.cgroup !== null) return (await pidsIn(session.cgroup)).length > 0
  if (await isOpen(session)) return true
  if (uid === undefined || !(await isOfThisBoot(session))) return false
  return isAnyBeside()
}
/** Looked for once, however many ask: whoever asks must have been seen closed before the first did. */
export const lookBeside = (layout: Layout, uid: number | undefined, username: string): (() => Promise<boolean>) => {
  let looked: Promise<boolean> | undefined
  return () => {
    looked ??= runningBeside(uid!, () => sessionsOf(layout, username)).then((beside) => beside.length > 0)
    return looked
  }
}

const mayBeOpen = async (session: Session): Promise<boolean> =>
  session.cgroup === null ? isOpen(session) : (await pidsIn(session.cgroup)).length > 0

/** Until nothing of it is left: what is being ended may just have started another. */
const endAll = async (session: Session): Promise<number> => {
  const ended = new Set<number>()
  const deadline = Date.now() + 1500
  for (;;) {
    const pids = await processesOf(session, session.cgroup === null ? await allProcesses() : [])
    if (pids.length === 0 || Date.now() > deadline) return ended.size
    for (const pid of pids) ended.add(pid)
    const atOnce =
      session.cgroup !== null &&
      (await writeFile(join(session.cgroup, 'cgroup.kill'), '1').then(
        () => true,
        () => false,
      ))
    if (!atOnce) for (const pid of pids) endProcess(pid)
    await pause(10)
  }
}

export const markOf = ({ sessions_dir }: Layout, { session_id }: Session, what: 'begun' | 'over' | 'ending'): string =>
  join(sessions_dir, `${session_id}.told-${what}`)

export const forgetSession = async (layout: Layout, session: Session): Promise<void> => {
  if (session.cgroup !== null) await rmdir(session.cgroup).catch(() => {})
  await rm(join(layout.sessions_dir, session.session_id), { force: true })
  for (const what of ['begun', 'over', 'ending'] as const) await rm(markOf(layout, session, what), { force: true })
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
export const endSessions = async (
  layout: Layout,
  { username, uid }: { readonly username: string; readonly uid: number },
  ending: readonly Session[],
): Promise<EndedSession[]> => {
  if (ending.length === 0) return []
  const wasEnding = await Promise.all(ending.map((session) => markEnding(layout, session)))
  const counts = await Promise.all(ending.map(endAll))
  const gone = new Set(ending.map(({ session_id }) => session_id))
  // A group holds all that came from it, so nothing is in doubt but what was never in one: it may be anybody's, is left alone, and told.
  const others = async () => (await sessionsOf(layout, username)).filter(({ session_id }) => !gone.has(session_id))
  const may_have_left_processes = (await runningBeside(uid, others)).length > 0
  return ending.flatMap(({ session_id, fingerprint, cgroup }, index) =>
    counts[index]! > 0 || wasEnding[index] || (cgroup === null && may_have_left_processes)
      ? [{ session_id, fingerprint, processes_ended: counts[index]!, may_have_left_processes }]
      : [],
  )
}

/** Connections of the account that the hook has not written down, because it could not be run: nobody answers for them, so they end. */
export const endUnwritten = async (
  layout: Layout,
  { username, uid }: { readonly username: string; readonly uid: number },
): Promise<number> => {
  const beside = await runningBeside(uid, () => sessionsOf(layout, username), allProcessesTogether)
  const serving = new Map<number, Process>()
  for (const { parent } of beside) {
    const found = await processOf(parent)
    if (found && (await isRootsSshd(found))) serving.set(parent, found)
  }
  if (serving.size === 0) return 0
  const all = await allProcesses()
  for (const pid of serving.keys()) for (const each of treeOf(pid, all)) endProcess(each.pid)
  return serving.size
}
