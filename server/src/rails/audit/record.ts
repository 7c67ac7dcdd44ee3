import type { AuditEvent, Work } from '#ground/work/work.ts'

type Recorded = Pick<AuditEvent, 'action' | 'resource_type' | 'resource_id'> & Partial<AuditEvent>

/** Notes that something happened. Nothing is written yet: all events of a work are appended together, last. */
export const record = (work: Pick<Work, 'trail'>, event: Recorded): void => {
  work.trail.events.push({
    tenant_id: null,
    project_id: null,
    result: 'success',
    reason_code: null,
    severity: 'info',
    metadata: {},
    ...event,
  })
}
