import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'

export type Lock = { release: () => Promise<void> }

// An abstract socket rather than a file: the kernel lets go of it when its holder dies, however it dies, so there is no stale lock.
const addressOf = (path: string): string => {
  const real = join(realpathSync(dirname(path)), basename(path))
  return `\0gatehouse-${createHash('sha256').update(real).digest('hex').slice(0, 32)}`
}

/** Holds `path` for this process, or answers undefined when another process holds it. The parent folder must exist. */
export const takeLock = (path: string): Promise<Lock | undefined> => {
  if (process.platform !== 'linux') return Promise.resolve({ release: () => Promise.resolve() })
  const server = createServer((socket) => socket.on('error', () => {}).end(String(process.pid)))
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(addressOf(path), () => {
      server.unref()
      resolve({ release: () => new Promise((done) => server.close(() => done())) })
    })
  })
}

/** The process that holds `path`, if one does. */
export const lockHolder = (path: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    if (process.platform !== 'linux') return resolve(undefined)
    let answer = ''
    const socket = connect(addressOf(path))
    socket.setTimeout(1000, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => resolve(undefined))
    socket.on('close', () => resolve(Number(answer) || undefined))
  })
