import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

const byCode: Record<string, (error: NodeJS.ErrnoException) => string> = {
  EACCES: ({ path, syscall, message }) =>
    syscall === 'listen'
      ? `This user may not open that port: ${message}`
      : `This user may not write to ${path ?? message}. Start as its owner, or choose another folder: GATEHOUSE_STATE_DIR=/some/folder npm start`,
  EROFS: ({ path }) => `${path} is on a read-only file system. Choose another folder: GATEHOUSE_STATE_DIR=/some/folder npm start`,
  ENOSPC: () => 'The disk is full. Make room and start again.',
  EDQUOT: () => 'The disk quota of this user is used up. Make room and start again.',
  ENOENT: ({ path, message }) => `${path ?? message} cannot be made or found.`,
  ENOTDIR: ({ path }) => `${path} cannot be made: something on the way to it is a file and not a folder.`,
  EEXIST: ({ path }) => `${path} is in the way: a file where a folder is needed.`,
  ECONNREFUSED: () => 'The database in DATABASE_URL does not accept connections.',
  ENOTFOUND: ({ message }) => `The host of the database was not found: ${message}`,
  '28P01': ({ message }) => `The database refused the name or the password: ${message}`,
  '28000': ({ message }) => `The database refused the connection: ${message}`,
  '3D000': ({ message }) => `The database is missing: ${message}`,
}
byCode.EPERM = byCode.EACCES!

/** What to tell the person at the terminal. A stack trace tells them nothing. */
export const explain = (error: unknown): string => {
  if (error instanceof StartRefused) return error.message
  const known = error as NodeJS.ErrnoException
  return byCode[known?.code ?? '']?.(known) ?? `The start failed: ${known?.message || String(error)}`
}
