import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const aurora = `/api/v1/orgs/${seeded.org.aurora}`
const patch = `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\n`
const json = 'Content-Type: application/json\r\n'
const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
let bearer = ''
const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, async (live) => {
  bearer = `Authorization: Bearer ${await live.tokenOf('alice')}\r\n`
})

describe('requests that two servers could read differently', () => {
  const smuggled: [string, string][] = [
    ['CL.TE', `${json}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['TE.CL', `${json}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['two lengths', `${json}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['the same length twice', `${json}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a list of lengths', `${json}Content-Length: 2, 2\r\n\r\n{}`],
    ['a negative length', `${json}Content-Length: -2\r\n\r\n{}`],
    ['a length with a sign', `${json}Content-Length: +2\r\n\r\n{}`],
    ['a length in hex', `${json}Content-Length: 0x2\r\n\r\n{}`],
    ['a length beyond all bounds', `${json}Content-Length: 99999999999999999999999\r\n\r\n{}`],
    ['a space before the colon', `${json}Content-Length : 2\r\n\r\n{}`],
    ['a folded line', `${json}X-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}`],
    ['a bare LF after a header', `${json}X-Bare: a\nContent-Length: 2\r\n\r\n{}`],
    ['a bare LF at the end', `${json}Content-Length: 2\r\n\n{}`],
    ['a bare CR', `${json}X-Bare: a\rContent-Length: 2\r\n\r\n{}`],
    ['NUL in a header', `${json}X-Nul: a\u0000b\r\nContent-Length: 2\r\n\r\n{}`],
    ['xchunked', `${json}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['chunked, then something else', `${json}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${json}Transfer-Encoding: chunked\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['identity with a length', `${json}Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}`],
    ['a chunk size that is none', `${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a chunk longer than it says', `${json}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
    ['a bare LF after a chunk size', `${json}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`],
    ['a header without a name', `${json}: x\r\nContent-Length: 2\r\n\r\n{}`],
    ['a header without a colon', `${json}Nonsense\r\nContent-Length: 2\r\n\r\n{}`],
  ]
  for (const [name, rest] of smuggled)
    test(`HO-04 ${name}: one 400, then the connection ends`, async () => {
      const { statuses, is_closed, text } = await rawExchange(live.url, [`${patch}${bearer}${rest}${health}`])
      expect({ statuses, is_closed }).toEqual({ statuses: [400], is_closed: true })
      expect(text).not.toContain('{"status":"ok"}')
    })

  test('the harness sees a second response where there is one: two honest requests on one connection', async () => {
    const { statuses, is_closed } = await rawExchange(live.url, [health + health], { responses: 2 })
    expect({ statuses, is_closed }).toEqual({ statuses: [200, 200], is_closed: false })
  })

  test('HO-04 who is refused before his body came gets one answer, whatever comes afterwards', async () => {
    const stranger = patch + json
    for (const rest of ['Transfer-Encoding: chunked\r\n\r\n5\r\n', `Content-Length: ${health.length + 9}\r\n\r\n`])
      for (const late of ['{}{}{}{}zzz\r\n\r\n', health + health]) {
        const { statuses, is_closed } = await rawExchange(live.url, [stranger + rest, late], { is_answered_between: true })
        expect({ statuses, is_closed }).toEqual({ statuses: [401], is_closed: true })
      }
  })

  test('HO-04 a request without a host, with an odd expectation or an upgrade is answered like any other', async () => {
    const ask = async (bytes: string, responses = 1) => rawExchange(live.url, [bytes], { responses })
    const hostless = await ask('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')
    expect(hostless.statuses).toEqual([400])
    expect(hostless.text).toContain('"code":"invalid_request"')
    for (const header of [
      'Expect: miracles',
      'Expect: 100-continue',
      'Connection: upgrade\r\nUpgrade: h2c',
      'Connection: upgrade\r\nUpgrade: websocket',
    ]) {
      // The interim response of a granted expectation comes before the answer.
      const { statuses, text } = await ask(health.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`), header === 'Expect: 100-continue' ? 2 : 1)
      expect(statuses.at(-1)).toBe(200)
      expect(text).toContain('x-request-id: ')
    }
  })
})

describe('size', () => {
  test('HO-04 a header of 64 KB is a 431, and the connection ends', async () => {
    for (const header of [
      `X-Long: ${'a'.repeat(65_536)}`,
      Array.from({ length: 2000 }, (_, n) => `X-Many-${n}: ${'a'.repeat(20)}`).join('\r\n'),
    ]) {
      const { statuses, is_closed } = await rawExchange(live.url, [`GET /healthz HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`])
      expect({ statuses, is_closed }).toEqual({ statuses: [431], is_closed: true })
    }
    const { statuses } = await rawExchange(live.url, [`GET /${'a'.repeat(65_536)} HTTP/1.1\r\nHost: x\r\n\r\n`])
    expect(statuses).toEqual([431])
  })

  test('HO-04 a body without end is cut off at the limit', async () => {
    const chunk = `1000\r\n${' '.repeat(4096)}\r\n`
    const pieces = [`${patch}${bearer}${json}Transfer-Encoding: chunked\r\n\r\n`, ...Array.from({ length: 4000 }, () => chunk)]
    const { statuses, is_closed } = await rawExchange(live.url, pieces)
    expect({ statuses, is_closed }).toEqual({ statuses: [413], is_closed: true })
    // A stranger is not even read.
    const stranger = await rawExchange(live.url, [`${patch}${json}Transfer-Encoding: chunked\r\n\r\n`, ...pieces.slice(1)])
    expect({ statuses: stranger.statuses, is_closed: stranger.is_closed }).toEqual({ statuses: [401], is_closed: true })
  })

  test('HO-04 a body that says it is larger than the limit is refused before it comes', async () => {
    const { statuses, is_closed } = await rawExchange(live.url, [`${patch}${bearer}${json}Content-Length: 10000000000\r\n\r\n`])
    expect({ statuses, is_closed }).toEqual({ statuses: [413], is_closed: true })
  })

  test('HO-04 a compressed bomb is refused unopened', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, ' '))
    expect(bomb.length).toBeLessThan(256 * 1024)
    const answer = await live.call('alice', 'PATCH', aurora, { raw: bomb, headers: { 'content-encoding': 'gzip' } })
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })
})
