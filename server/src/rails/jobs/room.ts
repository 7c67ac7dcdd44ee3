import { room } from '#ground/kernel/room-door.ts'

export const jobsRoom = room({
  sees: ['kernel'],
  shows: ['job.ts', 'run-jobs.ts'],
})
