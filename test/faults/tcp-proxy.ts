import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The line between a server and its database, to be made slow, cut, or silent. */
export const tcpProxy = async (target: { host: string; port: number }) => {
  const state = { delay_ms: 0, is_silent: false, cut_after_bytes: Number.POSITIVE_INFINITY, carried: 0 }
  const pairs = new Set<readonly [Socket, Socket]>()
  const held = new Set<() => void>()

  /** Bytes keep their order: each piece waits for its own time, and all wait while the line is silent. */
  const carry = (from: Socket, to: Socket) => {
    let last = Promise.resolve()
    from.on('data', (bytes) => {
      const due = performance.now() + state.delay_ms
      last = last.then(async () => {
        const wait = due - performance.now()
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
        while (state.is_silent && !to.destroyed) await new Promise<void>((resolve) => held.add(resolve))
        const room = state.cut_after_bytes - state.carried
        state.carried += bytes.length
        if (!to.destroyed) to.write(bytes.length <= room ? bytes : bytes.subarray(0, Math.max(0, room)))
        if (bytes.length > room) cut()
      })
    })
    const end = () => void last.then(() => to.destroy())
    from.on('close', end).on('error', end)
  }
  const cut = () => {
    for (const [a, b] of pairs) {
      a.resetAndDestroy()
      b.resetAndDestroy()
    }
  }
  const release = () => {
    for (const go of held) go()
    held.clear()
  }
  const server = createServer((near) => {
    const far = connect(target)
    const pair = [near, far] as const
    pairs.add(pair)
    near.once('close', () => pairs.delete(pair))
    for (const socket of pair) socket.setNoDelay(true).on('error', () => {})
    carry(near, far)
    carry(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    /** The same database, by way of this line. */
    urlOf: (url: string) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    delay: (milliseconds: number) => {
      state.delay_ms = milliseconds
    },
    /** Nothing comes through any more, and nobody is told. */
    silence: () => {
      state.is_silent = true
    },
    /** Every connection is reset, now or when so many more bytes have passed. */
    cut,
    cutAfter: (bytes: number) => {
      state.carried = 0
      state.cut_after_bytes = bytes
    },
    heal: () => {
      Object.assign(state, { delay_ms: 0, is_silent: false, cut_after_bytes: Number.POSITIVE_INFINITY, carried: 0 })
      release()
    },
    connections: () => pairs.size,
    stop: async () => {
      state.is_silent = false
      release()
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type TcpProxy = Awaited<ReturnType<typeof tcpProxy>>
