import { access, writeFile } from 'node:fs/promises'
import type { Happening, Tell, Wanted } from '../hands.ts'
import type { Layout } from './layout.ts'
import { type EndedSession, forgetSession, isOfThisBoot, isOpen, markOf, mayRun, type Session } from './sessions.ts'

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

/** Tells who came and who went. A session whose connection is closed stays known as long as something that it started still runs. */
export const tellOfSessions = async (telling: Telling, uid: number | undefined, sessions: readonly Session[]): Promise<void> => {
  for (const session of sessions) {
    await tellBegun(telling, session)
    if (await isOpen(session)) continue
    // One of an earlier run of the system went with that: nobody saw when.
    await once(telling, session, 'over', { end: (await isOfThisBoot(session)) ? 'closed' : 'lost' })
    if (!(await mayRun(telling.layout, uid, session))) await forgetSession(telling.layout, session)
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
    await once(telling, session, 'over', { end: endOf(fingerprint), processes_ended, may_have_left_processes })
    await forgetSession(telling.layout, session)
  }
}
