import type { Database } from '#ground/db/database.ts'
import { room } from '#ground/kernel/room-door.ts'
import { forgetNodeEvents } from './forget-events.ts'
import { sshSessionsSentences } from './ssh-sessions-sentences.ts'

export const sshSessionsRoom = room({
  sees: ['allocations', 'nodes', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['ssh-session-routes.ts'],
  jobs: [
    {
      name: 'forget-node-events',
      doing: 'sweeping ids of what nodes have told',
      every_seconds: 600,
      run: ({ database }: { readonly database: Database }) => forgetNodeEvents(database),
    },
  ],
  sentences: sshSessionsSentences,
})
