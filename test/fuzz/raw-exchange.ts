import { connect } from 'node:net'

export interface Exchanged {
  /** Everything that came back. */
  text: string
  /** The status of each response in it. */
  statuses: number[]
  is_closed: boolean
  seconds: number
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export interface Listening {
  /** A bound for what never ends; a busy machine must not reach it where an end is expected. */
  wait_ms?: number
  between_ms?: number
  /** Each further piece is sent when something has been answered: bytes that come earlier may make the system drop an answer that is on its way. */
  is_answered_between?: boolean
  /** So many responses are enough: the connection may stay open. */
  responses?: number
}

/** Sends bytes as they are, piece by piece, and listens until the other side closes, enough has come, or the time is over. */
export const rawExchange = (
  url: string,
  pieces: readonly (string | Uint8Array)[],
  { wait_ms = 60_000, between_ms = 0, is_answered_between = false, responses = Number.POSITIVE_INFINITY }: Listening = {},
): Promise<Exchanged> =>
  new Promise((resolve) => {
    const started = performance.now()
    const chunks: Buffer[] = []
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const heard = () => {
      const text = Buffer.concat(chunks).toString('latin1')
      return { text, statuses: [...text.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status)) }
    }
    const finish = (is_closed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      const { text, statuses } = heard()
      resolve({ text, statuses, is_closed, seconds: (performance.now() - started) / 1000 })
    }
    const timer = setTimeout(() => finish(false), wait_ms)
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (heard().statuses.length > 0) answer()
      if (heard().statuses.length >= responses) finish(false)
    })
    socket.on('close', () => finish(true))
    // A server that has heard enough may reset the connection; what came before still counts.
    socket.on('error', () => {})
    void (async () => {
      for (const piece of pieces) {
        if (!socket.writable) return
        socket.write(piece)
        if (between_ms > 0) await pause(between_ms)
        if (is_answered_between) await answered
      }
    })()
  })
