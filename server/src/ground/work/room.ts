import { room } from '../kernel/room-door.ts'

export const workRoom = room({
  sees: ['db', 'kernel'],
  shows: ['work.ts'],
})
