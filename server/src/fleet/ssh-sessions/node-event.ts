import type { NodeEvent } from '@gatehouse/contract/node-events'
import type { FieldFault } from '@gatehouse/contract/problem-details'
import { Problem } from '#ground/kernel/problem.ts'

/** What happened, with all that belongs to its kind. */
export type Happening =
  | (NodeEvent & { readonly kind: 'session_started' } & Required<Pick<NodeEvent, 'session_id' | 'fingerprint'>>)
  | (NodeEvent & { readonly kind: 'session_ended' } & Required<Pick<NodeEvent, 'session_id' | 'fingerprint' | 'end'>>)
  | (NodeEvent & { readonly kind: 'drift_restored' } & Required<Pick<NodeEvent, 'found'>>)
  | (NodeEvent & { readonly kind: 'drift_found' } & Required<Pick<NodeEvent, 'failure'>>)

const needed = {
  session_started: ['session_id', 'fingerprint'],
  session_ended: ['session_id', 'fingerprint', 'end'],
  drift_restored: ['found'],
  drift_found: ['failure'],
} as const satisfies Record<NodeEvent['kind'], readonly (keyof NodeEvent)[]>

export const requireWhole = (events: readonly NodeEvent[]): readonly Happening[] => {
  const faults = events.flatMap((event, index) =>
    needed[event.kind]
      .filter((member) => event[member] === undefined)
      .map((member): FieldFault => ({ in: 'body', field: `events/${index}/${member}`, message: `is required of ${event.kind}` })),
  )
  if (faults.length > 0) throw new Problem('validation_error', faults)
  return events as readonly Happening[]
}

const placeOf = (event: Happening): string => ('session_id' in event && event.session_id !== undefined ? event.session_id : '')

/** Each once, those of one session as they came. In the order of sessions, so that two who tell do not wait for each other. */
export const inOrder = (events: readonly Happening[], are_new: ReadonlySet<string>): readonly Happening[] => {
  const once = new Map(events.toReversed().map((event) => [event.event_id, event]))
  return events
    .filter((event) => are_new.has(event.event_id) && once.get(event.event_id) === event)
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : placeOf(a) > placeOf(b) ? 1 : 0))
}
