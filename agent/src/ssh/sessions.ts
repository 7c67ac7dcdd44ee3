import { createHash } from 'node:crypto'
import { readdir, readFile, rm, rmdir, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Layout } from './layout.ts'
import { pidsNowIn, startOf, thisBoot } from './processes.ts'

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

export type SessionsByAccount = ReadonlyMap<string, readonly Session[]>

/** All sessions, by account. What the hook has written stays as it is, so each file is read once, by whoever sees it first. */
export const sessionReader = (layout: Layout): (() => Promise<SessionsByAccount>) => {
  let known = new Map<string, Session>()
  return async () => {
    const files = await readdir(layout.sessions_dir).catch((error: NodeJS.ErrnoException) => {
      // Somebody took it away, and with it who came in by which key: the hook makes it again, and what is in unwritten ends.
      if (error.code !== 'ENOENT') throw error
      return []
    })
    const found = await Promise.all(files.map((file) => known.get(file) ?? readSession(layout, file)))
    const sessions = found.filter((each) => each !== undefined)
    known = new Map(sessions.map((each) => [each.session_id, each]))
    const by_account = new Map<string, Session[]>()
    for (const each of sessions) {
      const theirs = by_account.get(each.username)
      if (theirs) theirs.push(each)
      else by_account.set(each.username, [each])
    }
    return by_account
  }
}

export const isOfThisBoot = async ({ boot }: Session): Promise<boolean> => boot === (await thisBoot())

/** Whether the connection is still served. */
export const isOpen = async (session: Session): Promise<boolean> =>
  startOf(session.monitor.pid) === session.monitor.started && (await isOfThisBoot(session))

/** Whether something that it began runs in its group, or it is open where it has none. */
export const mayBeOpen = async (session: Session): Promise<boolean> =>
  session.cgroup === null ? isOpen(session) : pidsNowIn(session.cgroup).length > 0

/** When it was last seen open: the time of its file, which is that of its beginning until somebody has looked. */
export const lastSeen = async ({ sessions_dir }: Layout, { session_id }: Session): Promise<number> =>
  (await stat(join(sessions_dir, session_id))).mtimeMs
export const noteSeen = ({ sessions_dir }: Layout, { session_id }: Session, now: Date): Promise<void> =>
  utimes(join(sessions_dir, session_id), now, now)

export const markOf = ({ sessions_dir }: Layout, { session_id }: Session, what: 'begun' | 'over' | 'ending'): string =>
  join(sessions_dir, `${session_id}.told-${what}`)

export const forgetSession = async (layout: Layout, session: Session): Promise<void> => {
  if (session.cgroup !== null) await rmdir(session.cgroup).catch(() => {})
  await rm(join(layout.sessions_dir, session.session_id), { force: true })
  for (const what of ['begun', 'over', 'ending'] as const) await rm(markOf(layout, session, what), { force: true })
}
