import type { NodeEvent } from '@gatehouse/contract/node-events'
import type { IdentityFile } from '../../agent/src/identity.ts'
import type { AllocationState, Asked, Report, State } from '../../agent/src/state.ts'

/** What an agent keeps, without a disk; a copy of it is what a crash leaves behind. */
export const memoryState = (identity: IdentityFile): State => {
  const identities = new Map<'current' | 'next', IdentityFile>([['current', identity]])
  const allocations = new Map<string, AllocationState>()
  const reports = new Map<string, Report>()
  const events = new Map<string, NodeEvent>()
  let asked: Asked | undefined
  return {
    folder: 'memory',
    identity: async (which) => identities.get(which),
    keepIdentity: async (which, file) => void identities.set(which, file),
    dropNextIdentity: async () => void identities.delete('next'),
    switchIdentity: async () => {
      identities.set('current', identities.get('next')!)
      identities.delete('next')
    },
    asked: async () => asked,
    keepAsked: async (kept) => {
      asked = kept
    },
    dropAsked: async () => {
      asked = undefined
    },
    allocations: async () => [...allocations.values()],
    keepAllocation: async (kept) => void allocations.set(kept.allocation_id, kept),
    dropAllocation: async (id) => void allocations.delete(id),
    reports: async () => [...reports.values()],
    keepReport: async (kept) => void reports.set(kept.task_id, kept),
    dropReport: async (id) => void reports.delete(id),
    events: async () => [...events.values()],
    keepEvent: async (kept) => void events.set(kept.event_id, kept),
    dropEvent: async (id) => void events.delete(id),
  }
}
