import { rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { ownFolder } from './atomic-file.ts'

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

/** Answers whoever asks how it goes; and, being there, says that the state is in use: two agents on one would undo each other's work. */
export const hangDoorbell = async (folder: string, answer: () => string): Promise<() => Promise<void>> => {
  await ownFolder(folder)
  if ((await askRunning(folder)) !== undefined) throw new Error('an agent runs on this state already')
  // Left by one that was killed.
  await rm(socketIn(folder), { force: true })
  const server = createServer((socket) => {
    socket.once('error', () => {})
    socket.end(answer())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketIn(folder), resolve)
  })
  return () => new Promise((resolve) => server.close(() => resolve()))
}
