import { room } from '../kernel/room-door.ts'

export const epochsRoom = room({
  sees: ['db', 'kernel'],
  shows: ['fresh.ts', 'moment.ts', 'read-moment.ts', 'together.ts'],
})
