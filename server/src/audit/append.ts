import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { Work } from '../work/work.ts'
import { insertEvents } from './audit-queries.ts'
import { resourceName } from './resource-name.ts'

/** Writes the events of a work, as the last thing before its commit. What cannot be recorded does not happen. */
export const appendEvents = async (work: Work, region: string): Promise<void> => {
  if (work.trail.events.length === 0) return
  const rows = work.trail.events.map((event) => ({
    ...event,
    id: newId('audit'),
    occurred_at: work.now,
    correlation_id: work.correlation_id,
    actor_type: work.actor.type,
    actor_id: work.actor.id,
    platform_role: work.trail.platform_role,
    resource_name: resourceName(region, event),
  }))
  try {
    await work.tx.many(insertEvents(JSON.stringify(rows)))
  } catch (error) {
    throw new Problem('dependency_unavailable', undefined, error)
  }
}
