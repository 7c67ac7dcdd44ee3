import { createHash } from 'node:crypto'
import { readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Layout } from './layout.ts'
import { allProcesses, endProcess, type Process, processOf, treeOf } from './processes.ts'

/** A session as the hook wrote it down. */
export interface Session {
  readonly session_id: string
  readonly username: string
  readonly fingerprint: string
  readonly source_ip: string | null
  readonly started_at: string
  /** The connection has ended; what it started may still run. */
  readonly is_closed: boolean
  /** The process that serves the connection. */
  readonly monitor: { readonly pid: number; readonly started: string }
  /** Its control group, if it has one. */
  readonly cgroup: string | null
}

export interface EndedSession {
  readonly session_id: string
  readonly fingerprint: string
  readonly processes_ended: number
  readonly may_have_left_processes: boolean
}

const name = /^(\d+)\.(\d+)(\.closed)?$/

const fingerprintOf = (blob: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replaceAll('=', '')}`

const readSession = async ({ sessions_dir, cgroup_dir }: Layout, file: string): Promise<Session | undefined> => {
  const [, pid, started, closed] = name.exec(file) ?? []
  if (!pid || !started) return undefined
  const text = await readFile(join(sessions_dir, file), 'utf8').catch(() => '')
  const [username, type, blob, source, group, started_at] = text.split('\n')
  if (!username || !type || !blob || !group || !started_at) return undefined
  return {
    session_id: `${pid}.${started}`,
    username,
    fingerprint: fingerprintOf(blob),
    source_ip: /^[0-9A-Fa-f.:]{2,45}$/.test(source ?? '') ? source! : null,
    started_at,
    is_closed: closed !== undefined,
    monitor: { pid: Number(pid), started },
    cgroup: group === 'none' || cgroup_dir === null ? null : join(cgroup_dir, group),
  }
}

export const readSessions = async (layout: Layout): Promise<Session[]> => {
  const files = await readdir(layout.sessions_dir)
  const found = await Promise.all(files.map((file) => readSession(layout, file)))
  return found.filter((each) => each !== undefined)
}

export const isMonitorAlive = async ({ monitor }: Session): Promise<boolean> => (await processOf(monitor.pid))?.started === monitor.started

const pidsIn = async (cgroup: string): Promise<number[]> => {
  const text = await readFile(join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

/** All of a session that still runs, as far as it can be told. */
export const processesOf = async (session: Session, all: readonly Process[]): Promise<readonly number[]> => {
  if (session.cgroup !== null) return pidsIn(session.cgroup)
  return (await isMonitorAlive(session)) ? treeOf(session.monitor.pid, all).map(({ pid }) => pid) : []
}

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

/** What runs as the account and belongs to no session that is known: it may be anybody's, and so it is left alone and told. */
const unknownOf = async (uid: number, sessions: readonly Session[]): Promise<number> => {
  const all = await allProcesses()
  const known = new Set((await Promise.all(sessions.map((each) => processesOf(each, all)))).flat())
  return all.filter((each) => each.uid === uid && !known.has(each.pid)).length
}

export const forgetSession = async (layout: Layout, session: Session): Promise<void> => {
  for (const suffix of ['', '.closed']) await rm(join(layout.sessions_dir, `${session.session_id}${suffix}`), { force: true })
  if (session.cgroup !== null) await rmdir(session.cgroup).catch(() => {})
}

/** Ends these sessions with all that they started, and no others. */
export const endSessions = async (layout: Layout, uid: number, ending: readonly Session[]): Promise<EndedSession[]> => {
  const counts = await Promise.all(ending.map(endAll))
  const gone = new Set(ending.map(({ session_id }) => session_id))
  const others = (await readSessions(layout)).filter(({ session_id }) => !gone.has(session_id))
  // A group holds all that came from it, so nothing is in doubt but what was never in one.
  const isInDoubt = ending.length > 0 && (await unknownOf(uid, others)) > 0
  await Promise.all(ending.map((session) => forgetSession(layout, session)))
  return ending.map(({ session_id, fingerprint }, index) => ({
    session_id,
    fingerprint,
    processes_ended: counts[index]!,
    may_have_left_processes: isInDoubt,
  }))
}
