import { room } from '#ground/kernel/room-door.ts'

export const policiesRoom = room({
  sees: ['epochs', 'db', 'kernel'],
  shows: [
    'condition.ts',
    'constraint-chain.ts',
    'constraint.ts',
    'effective-value.ts',
    'policy-definitions.ts',
    'policy-queries.ts',
    'policy-value.ts',
    'read-policy.ts',
    'require-room.ts',
  ],
})
