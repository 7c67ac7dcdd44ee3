import { createServer } from 'node:net'

const listen = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen({ port, host: '127.0.0.1' }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined))
    })
  })

export const isPortFree = async (port: number): Promise<boolean> => (await listen(port)) !== undefined

/** A port that was free a moment ago. Another process may still be quicker. */
export const freePort = async (): Promise<number> => (await listen(0))!
