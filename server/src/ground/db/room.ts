import { room } from '../kernel/room-door.ts'

export const dbRoom = room({
  sees: ['kernel'],
  shows: [
    'connection-shares.ts',
    'copy/backup.ts',
    'copy/copy-refused.ts',
    'copy/restore.ts',
    'database-errors.ts',
    'database.ts',
    'listen.ts',
    'migrate.ts',
    'primary-guard.ts',
    'schema-checks.ts',
    'schema-queries.ts',
    'statement.ts',
  ],
})
