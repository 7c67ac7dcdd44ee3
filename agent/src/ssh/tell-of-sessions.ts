import { access, writeFile } from 'node:fs/promises'
import type { Happening, Tell, Wanted } from '../hands.ts'
import { mayRun } from './end-sessions.ts'
import type { Layout } from './layout.ts'
import { type EndedSession, forgetSession, isOfThisBoot, isOpen, lastSeen, markOf, noteSeen, type Session } from './sessions.ts'
import type { Watch } from './watch.ts'

type Of = Pick<Wanted, 'allocation_id' | 'generation'>

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Of sessions that stay as they are nothing is read or written at each look: there may be thousands. */
export interface Remembered {
  /** Of which it was told that they began. */
  readonly begun: Set<string>
  /** When they were last noted to be open. */
  readonly seen: Map<string, number>
}
export const newRemembered = (): Remembered => ({ begun: new Set(), seen: new Map() })

export interface Telling {
  readonly layout: Layout
  readonly watch: Watch
  readonly remembered: Remembered
  readonly tell: Tell
  readonly of: Of
  /** Somebody waits: the rest is told the next time. */
  readonly isPressed?: () => boolean
}

/** Told first and marked after: after a crash in between it is told twice, and counts once. */
const once = async ({ layout, tell, of }: Telling, session: Session, what: 'begun' | 'over', told: Partial<Happening>): Promise<void> => {
  const mark = markOf(layout, session, what)
  if (await isThere(mark)) return
  const { session_id, fingerprint } = session
  const kind = what === 'begun' ? 'session_started' : 'session_ended'
  await tell({ at: new Date().toISOString(), ...told, ...of, kind, session_id, fingerprint })
  await writeFile(mark, '', { mode: 0o600 })
}

const tellBegun = async (telling: Telling, session: Session): Promise<void> => {
  const { session_id, started_at, source_ip } = session
  if (telling.remembered.begun.has(session_id)) return
  await once(telling, session, 'begun', { at: started_at, ...(source_ip === null ? {} : { source_ip }) })
  telling.remembered.begun.add(session_id)
}

const forget = async ({ layout, remembered }: Telling, session: Session): Promise<void> => {
  await forgetSession(layout, session)
  remembered.begun.delete(session.session_id)
  remembered.seen.delete(session.session_id)
}

/** Looked for every few seconds, so one that was open a moment ago has ended since; of another nobody saw when. */
const moment_ms = 30_000
const noted_ms = 10_000

const noteOpen = async ({ layout, remembered }: Telling, session: Session): Promise<void> => {
  const now = new Date()
  if (Math.abs(now.getTime() - (remembered.seen.get(session.session_id) ?? 0)) < noted_ms) return
  await noteSeen(layout, session, now)
  remembered.seen.set(session.session_id, now.getTime())
}

/** How a session ended that we have not ended, and when as far as that is known: of one that was found gone, when it was last seen. */
const endOf = async (layout: Layout, session: Session): Promise<Pick<Happening, 'end' | 'at'>> => {
  const [seen, now] = [await lastSeen(layout, session), Date.now()]
  if ((await isOfThisBoot(session)) && Math.abs(now - seen) < moment_ms) return { end: 'closed', at: new Date(now).toISOString() }
  return { end: 'lost', at: new Date(Math.min(seen, now)).toISOString() }
}

/** Tells who came and who went. A session whose connection is closed stays known as long as something that it started still runs. */
export const tellOfSessions = async (telling: Telling, uid: number | undefined, sessions: readonly Session[]): Promise<void> => {
  const are_open = await Promise.all(sessions.map(isOpen))
  // Looked for once, however many ask: those that are closed were seen to be before.
  let beside: ReturnType<Watch['besideOf']> | undefined
  const besideOf: Watch['besideOf'] = (of) => {
    beside ??= telling.watch.besideOf(of)
    return beside
  }
  for (const [index, session] of sessions.entries()) {
    if (telling.isPressed?.()) return
    await tellBegun(telling, session)
    if (are_open[index]) {
      await noteOpen(telling, session)
      continue
    }
    await once(telling, session, 'over', await endOf(telling.layout, session))
    if (!(await mayRun({ ...telling.watch, besideOf }, uid, session))) await forget(telling, session)
  }
}

/** Tells which sessions we have ended, and why. */
export const tellOfEnded = async (
  telling: Telling,
  sessions: readonly Session[],
  ended: readonly EndedSession[],
  endOf: (fingerprint: string) => NonNullable<Happening['end']>,
): Promise<void> => {
  for (const { session_id, fingerprint, processes_ended, may_have_left_processes } of ended) {
    const session = sessions.find((each) => each.session_id === session_id)!
    await tellBegun(telling, session)
    // Also of one whose connection was closed, and told of: what it had left running was ended now.
    const told = { end: endOf(fingerprint), processes_ended, may_have_left_processes }
    await telling.tell({ at: new Date().toISOString(), ...told, ...telling.of, kind: 'session_ended', session_id, fingerprint })
    await forget(telling, session)
  }
}
