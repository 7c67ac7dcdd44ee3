import { access, writeFile } from 'node:fs/promises'
import type { Happening, Tell, Wanted } from '../hands.ts'
import type { Layout } from './layout.ts'
import {
  type EndedSession,
  forgetSession,
  isOfThisBoot,
  isOpen,
  lastSeen,
  lookBeside,
  markOf,
  mayRun,
  noteSeen,
  type Session,
} from './sessions.ts'

type Of = Pick<Wanted, 'allocation_id' | 'generation'>

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

export interface Telling {
  readonly layout: Layout
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

const tellBegun = (telling: Telling, session: Session): Promise<void> => {
  const { started_at, source_ip } = session
  return once(telling, session, 'begun', { at: started_at, ...(source_ip === null ? {} : { source_ip }) })
}

/** Looked for every few seconds, so one that was open a moment ago has ended since; of another nobody saw when. */
const moment_ms = 30_000

/** How a session ended that we have not ended, and when as far as that is known: of one that was found gone, when it was last seen. */
const endOf = async (layout: Layout, session: Session): Promise<Pick<Happening, 'end' | 'at'>> => {
  const [seen, now] = [await lastSeen(layout, session), Date.now()]
  if ((await isOfThisBoot(session)) && Math.abs(now - seen) < moment_ms) return { end: 'closed', at: new Date(now).toISOString() }
  return { end: 'lost', at: new Date(Math.min(seen, now)).toISOString() }
}

/** Tells who came and who went. A session whose connection is closed stays known as long as something that it started still runs. */
export const tellOfSessions = async (telling: Telling, uid: number | undefined, sessions: readonly Session[]): Promise<void> => {
  const are_open = await Promise.all(sessions.map(isOpen))
  const isAnyBeside = lookBeside(telling.layout, uid, sessions[0]?.username ?? '')
  for (const [index, session] of sessions.entries()) {
    if (telling.isPressed?.()) return
    await tellBegun(telling, session)
    if (are_open[index]) {
      await noteSeen(telling.layout, session, new Date())
      continue
    }
    await once(telling, session, 'over', await endOf(telling.layout, session))
    if (!(await mayRun(uid, session, isAnyBeside))) await forgetSession(telling.layout, session)
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
    await forgetSession(telling.layout, session)
  }
}
