import type { Operation } from '@gatehouse/contract/operation'
import type { Work } from '#ground/work/work.ts'
import { record } from '../audit/record.ts'
import { type Declared, lookedAt } from './refused-target.ts'

/** What was looked at, by the last decision about it; with the projects of which something was shown, which a page or a report bounds. */
export const noteRead = (work: Work, { id }: Operation, declared: Declared): void => noteShown(work, declared, id)

/** That he was told again what he was told before: under a name of its own, since nothing was done a second time. */
export const noteRepeated = (work: Work, { id }: Operation, declared: Declared): void =>
  noteShown(work, declared, 'answer.repeat', { operation: id })

const noteShown = (work: Work, declared: Declared, action: string, about: Readonly<Record<string, string>> = {}): void => {
  const asked = work.trail.asked.at(-1)
  const project_ids = [...work.trail.shown_of].sort()
  record(work, {
    action,
    ...(asked ? lookedAt(asked, work.actor, declared) : { resource_type: 'operation', resource_id: null }),
    tenant_id: asked?.tenant_id ?? work.actor.token?.tenant_id ?? null,
    // Where only one project is involved, it is that project's business too.
    project_id: project_ids.length > 1 ? null : (asked?.project_id ?? project_ids[0] ?? null),
    metadata: project_ids.length > 0 ? { ...about, project_ids } : about,
  })
}
