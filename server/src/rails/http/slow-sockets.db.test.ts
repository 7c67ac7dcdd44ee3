import { expect, test } from 'vitest'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { allowedSlowness } from './server.ts'

// The product's limits, a third as long: what is tried is that they are kept, not how long they are. A busy machine stands still for less.
const slowness = { ...unhurried.slowness, headers_ms: 3000, request_ms: 3600, checked_every_ms: 100 }

const live = serverFixture({ parts: { slowness } })

test('HO-04 slow sockets: dozens are slow in three ways → others are served, each slow one is closed and answered once at most', async () => {
  const patch = `PATCH /api/v1/orgs/${seeded.org.aurora} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await live.tokenOf('alice')}\r\n`
  const endless = Array.from({ length: 3000 }, () => 'X-Drip: drop\r\n')
  const drip = (head: string, drops: string[]) => rawExchange(live.url, [head, ...drops], { between_ms: 50 })
  const silent = () => rawExchange(live.url, [])
  const headers = () => drip('GET /healthz HTTP/1.1\r\nHost: x\r\n', endless)
  const body = () =>
    drip(
      `${patch}Content-Type: application/json\r\nContent-Length: 3000\r\n\r\n`,
      Array.from(endless, () => ' '),
    )
  const slow = Promise.all(Array.from({ length: 12 }, () => [silent(), headers(), body()]).flat())
  const asked = await Promise.all(Array.from({ length: 50 }, () => live.call('boris', 'GET', '/api/v1/me')))
  expect(asked.filter(({ status }) => status !== 200)).toEqual([])
  const closed = await slow
  expect(closed.filter(({ is_closed }) => !is_closed)).toEqual([])
  // None is closed before its limit.
  expect(Math.min(...closed.map(({ seconds }) => seconds)) * 1000).toBeGreaterThan(slowness.headers_ms / 2)
  expect(closed.filter(({ statuses }) => statuses[0] === 408).length).toBeGreaterThanOrEqual(24)
  for (const { statuses } of closed) expect(statuses.length).toBeLessThanOrEqual(1)
})

test('HO-04 slow sockets: the limits that are shipped → a slow connection is closed within 15 s', () => {
  const { headers_ms, request_ms, checked_every_ms } = allowedSlowness
  expect(Math.max(headers_ms, request_ms) + checked_every_ms).toBeLessThanOrEqual(15_000)
})
