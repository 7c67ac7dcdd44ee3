import { room } from './room-door.ts'

export const kernelRoom = room({
  sees: [],
  shows: [
    'alone.ts',
    'compact-jws.ts',
    'file-faults.ts',
    'ids.ts',
    'instants.ts',
    'json-refused.ts',
    'networks.ts',
    'problem.ts',
    'recently-used.ts',
    'room-door.ts',
    'secret-in-text.ts',
    'secret.ts',
    'semaphore.ts',
    'settle-text.ts',
    'spelled-secret.ts',
    'strict-json.ts',
    'weak-keys.ts',
    'worth-a-row.ts',
  ],
})
