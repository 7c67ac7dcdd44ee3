import { room } from '#ground/kernel/room-door.ts'
import { allocationsSentences } from './allocations-sentences.ts'
import { tendAllocations } from './tend-allocations.ts'

export const allocationsRoom = room({
  sees: ['ssh-keys', 'node-tasks', 'nodes', 'task-signers', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: [
    'allocation-queries.ts',
    'allocation-routes.ts',
    'allocation-scope.ts',
    'allocation.ts',
    'end-key-entries.ts',
    'end-ownership.ts',
    'key-entry-queries.ts',
    'key-kinds.ts',
    'node-described.ts',
    'node-drifted.ts',
    'node-enrolled.ts',
    'node-retired.ts',
    'scope-moved.ts',
    'shown-allocation.ts',
    'states.ts',
    'sync-access.ts',
    'task-finished.ts',
    'terms-changed.ts',
  ],
  jobs: [{ name: 'tend-allocations', doing: 'tending the allocations', every_seconds: 2, run: tendAllocations }],
  nouns: [{ type: 'allocation', table: 'allocations', id_param: 'allocation_id' }],
  sentences: allocationsSentences,
})
