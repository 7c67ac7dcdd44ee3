import type { Operation } from '@gatehouse/contract/operation'
import type { Actor, Work } from '#ground/work/work.ts'
import { record } from '../audit/record.ts'
import { lookedAt } from './refused-target.ts'

/** Of whom everything is recorded, also that he looked. */
export const isWatched = ({ type }: Pick<Actor, 'type'>): boolean => type === 'shared_runtime_operator'

/** What was looked at, by the last decision about it; with the projects of which something was shown, which a page or a report bounds. */
export const noteRead = (work: Work, { id }: Operation): void => noteShown(work, id)

/** That he was told again what he was told before: under a name of its own, since nothing was done a second time. */
export const noteRepeated = (work: Work, { id }: Operation): void => noteShown(work, 'answer.repeat', { operation: id })

const noteShown = (work: Work, action: string, about: Readonly<Record<string, string>> = {}): void => {
  const asked = work.trail.asked.at(-1)
  const project_ids = [...work.trail.shown_of].sort()
  record(work, {
    action,
    ...(asked ? lookedAt(asked, work.actor) : { resource_type: 'operation', resource_id: null }),
    tenant_id: asked?.tenant_id ?? work.actor.token?.tenant_id ?? null,
    // Where only one project is involved, it is that project's business too.
    project_id: project_ids.length > 1 ? null : (asked?.project_id ?? project_ids[0] ?? null),
    metadata: project_ids.length > 0 ? { ...about, project_ids } : about,
  })
}
