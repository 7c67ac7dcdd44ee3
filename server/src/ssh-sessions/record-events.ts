import { type AllocationRow, recordedOf } from '../allocations/allocation.ts'
import { record } from '../audit/record.ts'
import type { Severity, Work } from '../work/work.ts'
import type { Happening } from './node-event.ts'
import type { SessionRow } from './ssh-session-queries.ts'

/** Who held the key: people by their grants or as owners, or the project's automation. */
export interface Holding {
  readonly user_ids: SessionRow['user_ids']
  readonly grant_ids: SessionRow['grant_ids']
  /** It was in a set that was sent there. */
  readonly is_known: boolean
}

/** As a sentence names them. */
const whose = ({ user_ids, is_known }: Holding): string => {
  if (user_ids.length > 0) return user_ids.join(' or ')
  return is_known ? 'the project’s automation' : 'nobody'
}

const aboutSession = (session: SessionRow, holding: Holding, { generation, event_id }: Happening) => ({
  node_id: session.node_id,
  event_id,
  session_id: session.session_id,
  fingerprint: session.fingerprint,
  user_ids: holding.user_ids,
  grant_ids: holding.grant_ids,
  whose: whose(holding),
  source_ip: session.source_ip,
  started_at: session.started_at,
  generation,
})

/** A key that was never sent there and opened something is what somebody must look at. */
const severityOf = ({ is_known }: Holding): Severity => (is_known ? 'info' : 'high')

export const recordBegin = (work: Work, allocation: AllocationRow, session: SessionRow, holding: Holding, event: Happening): void =>
  record(work, {
    action: 'allocation.ssh_session.start',
    ...recordedOf(allocation),
    severity: severityOf(holding),
    metadata: aboutSession(session, holding, event),
  })

export const recordEnd = (
  work: Work,
  allocation: AllocationRow,
  session: SessionRow,
  holding: Holding,
  event: Happening & { kind: 'session_ended' },
): void =>
  record(work, {
    action: 'allocation.ssh_session.end',
    ...recordedOf(allocation),
    severity: event.may_have_left_processes ? 'warning' : severityOf(holding),
    metadata: {
      ...aboutSession(session, holding, event),
      ended_at: event.at,
      end: event.end,
      processes_ended: event.processes_ended ?? null,
      may_have_left_processes: event.may_have_left_processes ?? null,
    },
  })

export const recordDrift = (work: Work, allocation: AllocationRow, event: Happening & { kind: 'drift_restored' }): void =>
  record(work, {
    action: 'allocation.access_drift',
    ...recordedOf(allocation),
    severity: 'high',
    metadata: {
      node_id: allocation.node_id,
      event_id: event.event_id,
      found: event.found,
      found_at: event.at,
      generation: event.generation,
    },
  })
