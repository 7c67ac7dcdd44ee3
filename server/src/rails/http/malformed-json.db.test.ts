import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { bearerFor, pathOf, rightfulCalls, sendingOf } from '../../../../test/fuzz/rightful-calls.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { sweep } from '../../../../test/sweep.ts'

const aurora = `/api/v1/orgs/${seeded.org.aurora}`
let bearer = ''
const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, async (live) => {
  bearer = `Authorization: Bearer ${await live.tokenOf('alice')}\r\n`
})

describe('JSON over the wire', () => {
  const send = (raw: string | Uint8Array) => live.call('alice', 'PATCH', aurora, { raw })
  const deep = (depth: number) => `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const documents: [string, string | Uint8Array][] = [
    ['a member twice', '{"name":"a","name":"b"}'],
    ['a member twice, once escaped', '{"name":"a","\\u006eame":"b"}'],
    ['a member twice, the same value', '{"name":"a","name":"a"}'],
    ['depth 100 000', deep(100_000)],
    ['depth 100 000, not closed', '{"name":'.repeat(30_000)],
    ['1e400', '{"name":1e400}'],
    ['2^53+1', '{"name":9007199254740993}'],
    ['a lone surrogate', '{"name":"\\ud800"}'],
    ['NUL', '{"name":"a\\u0000b"}'],
    ['a byte order mark', '\ufeff{"name":"a"}'],
    ['UTF-16', Buffer.from('{"name":"a"}', 'utf16le')],
    ['UTF-32', Buffer.from([...'{}'].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]))],
    ['bad UTF-8', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['overlong UTF-8', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')])],
    ['gzip without saying so', gzipSync('{"name":"a"}')],
    ...[
      '',
      ' ',
      '{',
      '}',
      '[',
      'null',
      'true',
      '0',
      '"name"',
      '[]',
      '[{"name":"a"}]',
      '{"name"}',
      '{"name":}',
      '{"name":"a",}',
      '{name:"a"}',
    ].map((text): [string, string] => [`${JSON.stringify(text)}`, text]),
    ...[
      "{'name':'a'}",
      '{"name":"a"}{"name":"b"}',
      '{"name":"a"} x',
      '{"name":"a\nb"}',
      '{"name":"\\x41"}',
      '{"name":01}',
      '{"name":+1}',
    ].map((text): [string, string] => [`${JSON.stringify(text)}`, text]),
    ...['{"name":NaN}', '{"name":Infinity}', '{"name":undefined}', '{"name":{}}', '{"name":["a"]}', '{"name":null}', '{"name":1.5e}'].map(
      (text): [string, string] => [`${JSON.stringify(text)}`, text],
    ),
  ]
  for (const [name, document] of documents)
    test(`HO-04 ${name} is a 400`, async () => {
      const { status, body } = await send(document)
      expect(status).toBe(400)
      expect(['invalid_request', 'validation_error']).toContain(body.code)
    })

  test('the documents are refused for what is wrong with them: one with nothing wrong is taken', async () => {
    expect(await send('{"name":"Aurora \\ud83d\\ude00 \\u0041"}')).toMatchObject({ status: 200, body: { name: 'Aurora 😀 A' } })
  })

  test('HO-04 a prefix of a good document, of any length, is a 400', async () => {
    const good = JSON.stringify({ name: 'Aurora \u00e9 "\\', reason: 'x' })
    for (let length = 1; length < good.length; length += 1) expect((await send(good.slice(0, length))).status).toBe(400)
  })

  test('HO-04 a long text that almost fits is refused without long thought', async () => {
    const attacks = [
      `${'a'.repeat(100_000)}\n`,
      `${' '.repeat(100_000)}\n`,
      `${' '.repeat(100_000)}a\n`,
      'a '.repeat(50_000),
      `${'-'.repeat(100_000)}!`,
    ]
    for (const field of ['name', 'slug', 'reason'])
      for (const attack of attacks) {
        const before = process.cpuUsage()
        const { status } = await live.call('alice', 'POST', `${aurora}/projects`, { body: { name: 'n', slug: 's', [field]: attack } })
        expect(status).toBe(400)
        // Processor time of this process, which is also the server's: other load does not count.
        expect(process.cpuUsage(before).user / 1e6).toBeLessThan(1)
      }
  })
})

describe('prototypes', () => {
  const clean = () => {
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(Object.keys(Object.prototype)).toEqual([])
    for (const name in {}) throw new Error(`every object has ${name} now`)
  }
  const poisons = ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"prototype":{"polluted":1}}']

  const withBody = rightfulCalls.filter((call) => call.body && call.operation.speaks === 'json')
  test('HO-04 a name that reaches one is a 400 at every depth of every body', async () => {
    for (const { operation, person, params, body } of sweep('poisoned bodies', withBody, 20)) {
      const path = pathOf(operation.path, params)
      for (const poison of poisons) {
        const fields = JSON.stringify(body).slice(1, -1)
        const places = [
          `{${fields},${poison.slice(1)}`,
          ...Object.keys(body!).map((name) => JSON.stringify({ ...body, [name]: '@' }).replace('"@"', poison)),
        ]
        for (const raw of [poison, `[${poison}]`, ...places])
          expect((await live.call(person, operation.method, path, { raw })).status).toBe(400)
      }
    }
    clean()
  })

  test('HO-04 a name that reaches one is a 400 in every query', async () => {
    const queries = [
      '__proto__=1',
      '__proto__[polluted]=1',
      'constructor=1',
      'constructor[prototype][polluted]=1',
      'constructor.prototype.polluted=1',
      '%5f_proto__=1',
      'toString=1',
      'hasOwnProperty=1',
    ]
    for (const { operation, person, params, body } of sweep('poisoned queries', rightfulCalls, 40))
      for (const query of queries) {
        const path = `${pathOf(operation.path, params)}?${query}`
        const answer = await live.call(bearerFor(operation, person), operation.method, path, sendingOf(operation, body))
        const refused =
          operation.speaks === 'oauth' ? { error: 'invalid_request' } : { code: 'validation_error', details: { fields: [{ in: 'query' }] } }
        expect(answer).toMatchObject({ status: 400, body: refused })
      }
    clean()
  })

  test('HO-04 headers of such names change nothing', async () => {
    const headers = `__proto__: polluted\r\nconstructor: polluted\r\nprototype: polluted\r\n`
    const { statuses } = await rawExchange(live.url, [`GET ${aurora} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}${bearer}\r\n`])
    expect(statuses).toEqual([200])
    clean()
  })
})
