import { request as askPlain } from 'node:http'
import { request as askSecurely } from 'node:https'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { operations } from '../../../../contract/src/operations.ts'
import { dearForms, dearJson } from '../../../../test/cost/dear-bodies.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { bodyLimit, type StrangerCost, strangerBodyLimit, usualStrangerCost } from './stranger-cost.ts'

// The minute of a limit does not pass by itself: how busy the machine is changes no count.
beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterAll(() => void vi.useRealTimers())

/** Bytes that were read for somebody who turned out to be nobody. */
let bytes_read = 0
const counting = ({ bodyLimitOf, requestsIn }: StrangerCost): StrangerCost => ({
  bodyLimitOf,
  requestsIn: (reading) => {
    bytes_read += reading.bytes
    return requestsIn(reading)
  },
})
/** The control: a stranger may send as much as everybody, and pays for one request whatever it holds. */
const noGuard: StrangerCost = { bodyLimitOf: () => bodyLimit, requestsIn: () => 1 }
// A limit of a tenth of the usual one, so that it is met with few requests.
const most_requests = 120
const live = serverFixture({
  parts: { stranger: counting(usualStrangerCost) },
  policies: { 'rate_limit.anonymous_requests_per_minute': most_requests },
})

interface Door {
  readonly url: string
  readonly nodes: { readonly url: string }
}
const send = (url: string, type: string, body: Buffer): Promise<number> =>
  new Promise((resolve) => {
    const headers = { 'content-type': type, 'content-length': String(body.length) }
    const ask = url.startsWith('https:') ? askSecurely : askPlain
    // A body that is refused while it is sent ends the connection: then nothing of it was read.
    ask(url, { method: 'POST', headers, rejectUnauthorized: false }, (response) =>
      response.resume().once('end', () => resolve(response.statusCode!)),
    )
      .on('error', () => resolve(413))
      .end(body)
  })

const strangers = operations.filter(({ identified_by }) => identified_by === 'credential' || identified_by === 'client')
const sizes = { large: bodyLimit - 10, small: strangerBodyLimit - 10 }
type Size = keyof typeof sizes
const bodiesOf = (size: number) => ({ json: dearJson(size)['escaped letters']!, oauth: dearForms(size)['encoded letters']! })
const bodies = { large: bodiesOf(sizes.large), small: bodiesOf(sizes.small) }

/** Sends bodies of one size to every operation that reads a stranger's, a few each, in turns; says how many bytes were read in all. */
const readFrom = async (door: Door, size: Size, each: number): Promise<number> => {
  bytes_read = 0
  for (let time = 0; time < each; time += 1)
    for (const { listener, path, speaks } of strangers) {
      const base = listener === 'nodes' ? door.nodes.url : door.url
      const type = speaks === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
      expect(await send(base + path, type, bodies[size][speaks])).toBeLessThan(500)
    }
  return bytes_read
}

test('HO-10 M4 strangers: dear bodies to every anonymous operation → no large one is read, and of small ones no more bytes than the limit pays for', async () => {
  const each = 12
  expect(await readFrom(live, 'large', each)).toBe(0)
  const sent = strangers.length * each * sizes.small
  const read = await readFrom(live, 'small', each)
  // The listeners count apart, and a caller that comes to the limit is read once more.
  const most_read = 2 * (most_requests * 1024 + strangerBodyLimit)
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThanOrEqual(most_read)
  expect(sent).toBeGreaterThan(3 * most_read)
})

test('HO-10 M4 control: without the guard → every byte that a stranger sends is read', async () => {
  const open = await live.replica({ stranger: counting(noGuard) })
  const sent = strangers.reduce((sum, { speaks }) => sum + bodies.large[speaks].length, 0)
  expect(await readFrom(open, 'large', 2)).toBe(2 * sent)
})
