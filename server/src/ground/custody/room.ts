import { room } from '../kernel/room-door.ts'

export const custodyRoom = room({
  sees: ['kernel'],
  shows: ['envelope.ts', 'key-ring.ts'],
})
