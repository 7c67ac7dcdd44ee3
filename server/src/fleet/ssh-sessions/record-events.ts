import type { Severity, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type AllocationRow, recordedOf } from '../allocations/allocation.ts'
import type { Happening } from './node-event.ts'
import type { SessionRow } from './ssh-session-queries.ts'

/** Who held the key: people by their grants or as owners, or the project's automation. */
export interface Holding {
  readonly user_ids: SessionRow['user_ids']
  readonly grant_ids: SessionRow['grant_ids']
  /** It was in a set that was sent there. */
  readonly is_known: boolean
  /** It could open something when the session began. */
  readonly is_in_force: boolean
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
    // Also one that was there once: a set that was put away is in force again, or the node does not tell the truth.
    severity: holding.is_in_force ? severityOf(holding) : 'high',
    metadata: { ...aboutSession(session, holding, event), is_in_force: holding.is_in_force },
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

/** One that could not be put right is another matter: until somebody looks, the node may let in whom it should not. */
export const recordDrift = (work: Work, allocation: AllocationRow, event: Happening & { kind: 'drift_restored' | 'drift_found' }): void =>
  record(work, {
    action: event.kind === 'drift_restored' ? 'allocation.access_drift' : 'allocation.access_drift.not_restored',
    ...recordedOf(allocation),
    severity: 'high',
    metadata: {
      node_id: allocation.node_id,
      event_id: event.event_id,
      ...(event.kind === 'drift_restored' ? { found: event.found } : { failure: event.failure }),
      found_at: event.at,
      generation: event.generation,
    },
  })
