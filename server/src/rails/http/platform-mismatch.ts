import type { Trail, Work } from '#ground/work/work.ts'
import { record } from '../audit/record.ts'

const disagreeing = 'platform_role.mismatch'
const unheard = 'platform_role.source_unreadable'

/** Records that the actor's platform role stands differently in its two places, where an action of the platform was asked about. */
export const noteMismatch = (work: Pick<Work, 'actor' | 'trail'>): void => {
  const { platform_mismatch: mismatch } = work.trail
  if (!mismatch) return
  record(work, {
    action: mismatch.source === null ? unheard : disagreeing,
    resource_type: 'user',
    resource_id: work.actor.id,
    // Without a source nobody administers the platform.
    severity: mismatch.source === null ? 'high' : 'warning',
    metadata: { ...mismatch },
  })
}

export const isMismatchNoted = ({ events }: Pick<Trail, 'events'>): boolean =>
  events.some(({ action }) => action === disagreeing || action === unheard)
