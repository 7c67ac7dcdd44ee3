import type { AllocationState } from '@gatehouse/contract/allocations'

/** What can happen to an allocation. */
export const happenings = ['placed', 'installed', 'not_provided', 'release_asked', 'cleared', 'not_cleared', 'node_retired'] as const
export type Happening = (typeof happenings)[number]

/** The whole workflow: what is not here does not happen (SG-23). */
const moves: Readonly<Record<AllocationState, Partial<Readonly<Record<Happening, AllocationState>>>>> = {
  // On no node yet, so nothing has to be cleared.
  requested: { placed: 'provisioning', release_asked: 'released' },
  provisioning: { installed: 'active', not_provided: 'failed', release_asked: 'releasing', node_retired: 'failed' },
  active: { release_asked: 'releasing', node_retired: 'failed' },
  releasing: { cleared: 'released', not_cleared: 'release_failed', node_retired: 'failed' },
  // It goes on being asked.
  release_failed: { release_asked: 'releasing', cleared: 'released', node_retired: 'failed' },
  released: {},
  failed: {},
}

/** Where it goes from there; undefined: it does not. */
export const movedBy = (state: AllocationState, happening: Happening): AllocationState | undefined => moves[state][happening]

/** Somebody may still be let in, now or when it is there. */
export const isOpen = (state: AllocationState): boolean => state === 'requested' || state === 'provisioning' || state === 'active'
