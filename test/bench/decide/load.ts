// A process of its own that asks as fast as it is answered: a socket each, the next request when the answer is there.
import { connect } from 'node:net'

export interface Plan {
  readonly port: number
  /** Whole requests, as they go over the line. */
  readonly requests: readonly string[]
  readonly connections: number
  readonly seconds: number
}
export interface Figures {
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>
}

const endOfHead = Buffer.from('\r\n\r\n')

/** How long the first answer in these bytes is, once its head is there; both servers say the length of the body. */
const answerLength = (bytes: Buffer): number | undefined => {
  const head = bytes.indexOf(endOfHead)
  if (head < 0) return undefined
  const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1]
  return head + endOfHead.length + Number(length ?? 0)
}

const run = async ({ port, requests, connections, seconds }: Plan): Promise<Figures> => {
  const lines = requests.map((request) => Buffer.from(request))
  const times: number[] = []
  const statuses: Record<string, number> = {}
  let next = 0
  const began = performance.now()
  const until = began + seconds * 1000
  const caller = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let sent = 0
      let heard: Buffer[] = []
      let size = 0
      let length: number | undefined
      const send = () => {
        sent = performance.now()
        socket.write(lines[next++ % lines.length]!)
      }
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (bytes) => {
        // An export has megabytes: they are joined only until the head is there.
        heard.push(bytes)
        size += bytes.length
        if (length === undefined) {
          if (heard.length > 1) heard = [Buffer.concat(heard)]
          length = answerLength(heard[0]!)
        }
        if (length === undefined || size < length) return
        const now = performance.now()
        times.push(now - sent)
        const status = heard[0]!.toString('latin1', 9, 12)
        statuses[status] = (statuses[status] ?? 0) + 1
        heard = []
        size = 0
        length = undefined
        if (now < until) send()
        else socket.end(() => resolve())
      })
    })
  await Promise.all(Array.from({ length: connections }, caller))
  const sorted = Float64Array.from(times).sort()
  return {
    per_second: (times.length / (performance.now() - began)) * 1000,
    p50_ms: sorted[Math.floor(sorted.length / 2)] ?? 0,
    p99_ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    statuses,
  }
}

process.on('disconnect', () => process.exit(0))
process.on('message', (plan: Plan) => {
  run(plan).then(
    (figures) => process.send?.(figures),
    (error: Error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
