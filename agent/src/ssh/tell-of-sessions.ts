import { access, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tell, Wanted } from '../hands.ts'
import type { Layout } from './layout.ts'
import { allProcesses } from './processes.ts'
import { forgetSession, isMonitorAlive, processesOf, type Session } from './sessions.ts'

type Of = Pick<Wanted, 'allocation_id' | 'generation'>

const markOf = ({ sessions_dir }: Layout, { session_id }: Session, what: 'begun' | 'over') =>
  join(sessions_dir, `${session_id}.told-${what}`)

const isTold = (mark: string): Promise<boolean> =>
  access(mark).then(
    () => true,
    () => false,
  )

/** Told first and marked after: after a crash in between it is told twice, and counts once. */
const once = async (mark: string, tell: () => Promise<void>): Promise<void> => {
  if (await isTold(mark)) return
  await tell()
  await writeFile(mark, '', { mode: 0o600 })
}

/** Tells who came and who went. A session whose connection is closed stays known as long as something that it started still runs. */
export const tellOfSessions = async (
  layout: Layout,
  tell: Tell,
  { allocation_id, generation }: Of,
  sessions: readonly Session[],
): Promise<void> => {
  for (const session of sessions) {
    const { session_id, fingerprint, source_ip, started_at, is_closed } = session
    const told = { allocation_id, generation, session_id, fingerprint }
    await once(markOf(layout, session, 'begun'), () =>
      tell({ ...told, kind: 'session_started', at: started_at, ...(source_ip === null ? {} : { source_ip }) } as never),
    )
    if (!is_closed && (await isMonitorAlive(session))) continue
    await once(markOf(layout, session, 'over'), () =>
      tell({ ...told, kind: 'session_ended', at: new Date().toISOString(), end: is_closed ? 'closed' : 'lost' } as never),
    )
    const running = await processesOf(session, session.cgroup === null ? await allProcesses() : [])
    if (running.length > 0) continue
    await forgetSession(layout, session)
    for (const what of ['begun', 'over'] as const) await rm(markOf(layout, session, what), { force: true })
  }
}
