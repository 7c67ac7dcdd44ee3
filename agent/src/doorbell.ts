import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isFull, ownFolder } from './atomic-file.ts'

const socketIn = (folder: string): string => join(folder, 'agent.sock')

/** What the agent that runs on this state has to say; undefined where none runs. The socket lies in a folder that is root's alone. */
export const askRunning = (folder: string): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const socket = connect(socketIn(folder))
    let text = ''
    socket.setEncoding('utf8')
    socket.setTimeout(5000, () => socket.destroy(new Error('the running agent does not answer')))
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.once('end', () => resolve(text))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTDIR') resolve(undefined)
      else reject(error)
    })
  })

const listening = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
const closing = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

/**
 * Two agents on one machine would undo each other's work, whatever state each has: the lock is the machine's, and the state's. The kernel holds the lock for whoever has the file open, gives it to nobody else at
 * the same moment, and takes it back when that process dies, however it dies. `flock` locks the file that it is handed, not itself. A
 * socket without a file would do as well, but every account of the machine could take its name first, and keep the agent from starting.
 */
const holdFile = (path: string): number => {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  const { status, error } = spawnSync('flock', ['--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', file] })
  if (status === 0) return file
  closeSync(file)
  throw new Error(
    error || status !== 1
      ? `${path} cannot be locked; is flock (util-linux) there?`
      : 'an agent runs on this machine already; stop it first',
  )
}
const holdAlone = (folder: string, lock_file: string | undefined): (() => void) => {
  const held = [lock_file === undefined ? undefined : holdFile(lock_file)]
  const release = () => {
    for (const each of held) if (each !== undefined) closeSync(each)
  }
  try {
    held.push(holdFile(join(folder, 'agent.lock')))
  } catch (error) {
    release()
    throw error
  }
  return release
}

/** For as long as something is done with the state that no agent may do meanwhile. */
export const withStateAlone = async <T>(folder: string, lock_file: string | undefined, act: () => Promise<T>): Promise<T> => {
  await ownFolder(folder)
  const release = holdAlone(folder, lock_file)
  try {
    return await act()
  } finally {
    release()
  }
}

/** Answers whoever asks how it goes. */
export const hangDoorbell = async (folder: string, lock_file: string | undefined, answer: () => string): Promise<() => Promise<void>> => {
  await ownFolder(folder)
  const release = holdAlone(folder, lock_file)
  const server = createServer((socket) => {
    socket.once('error', () => {})
    socket.end(answer())
  })
  try {
    // Left by one that was killed.
    await rm(socketIn(folder), { force: true })
    // Where there is no room for the bell nobody can ask how it goes; what is to end must end all the same.
    await listening(server, socketIn(folder)).catch((error: unknown) => {
      if (!isFull(error)) throw error
    })
  } catch (error) {
    release()
    throw error
  }
  return async () => {
    await closing(server)
    release()
  }
}
