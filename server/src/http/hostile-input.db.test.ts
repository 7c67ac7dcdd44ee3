import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Exchanged, rawExchange } from '../../../test/fuzz/raw-exchange.ts'
import { bearerFor, pathOf, rightfulCalls, sendingOf } from '../../../test/fuzz/rightful-calls.ts'
import { type Answered, type LiveServer, liveServer, seeded } from '../../../test/live-server.ts'
import { hasPart, parts } from '../../../tools/test/parts.ts'

let live: LiveServer
let bearer = ''
let slow: Promise<Exchanged[]>
const { org, project, user } = seeded
const aurora = `/api/v1/orgs/${org.aurora}`

beforeAll(async () => {
  live = await liveServer()
  await live.setPolicy('rate_limit.api_requests_per_minute', 1_000_000)
  await live.setPolicy('rate_limit.anonymous_requests_per_minute', 1_000_000)
  await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', 0)
  bearer = `Authorization: Bearer ${await live.tokenOf('alice')}\r\n`
  slow = openSlowSockets()
})
afterAll(() => live.stop())

const patch = `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\n`
const json = 'Content-Type: application/json\r\n'
const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

/** Three ways to be slow; they wait beside the other tests, and the last test looks at what became of them. */
const openSlowSockets = () => {
  const drip = (head: string, drop: string) =>
    rawExchange(live.url, [head, ...Array.from({ length: 40 }, () => drop)], { wait_ms: 20_000, between_ms: 500 })
  const silent = () => rawExchange(live.url, [], { wait_ms: 20_000 })
  const headers = () => drip('GET /healthz HTTP/1.1\r\nHost: x\r\n', 'X-Drip: drop\r\n')
  const body = () => drip(`${patch}${bearer}${json}Content-Length: 200\r\n\r\n`, ' ')
  return Promise.all(Array.from({ length: 12 }, () => [silent(), headers(), body()]).flat())
}

describe('slowness', () => {
  test('HO-04 while dozens of sockets are slow, others are served', async () => {
    const asked = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const started = performance.now()
        const { status } = await live.call('boris', 'GET', '/api/v1/me')
        return { status, seconds: (performance.now() - started) / 1000 }
      }),
    )
    expect(asked.filter(({ status, seconds }) => status !== 200 || seconds > 5)).toEqual([])
  })
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
        const started = performance.now()
        const { status } = await live.call('alice', 'POST', `${aurora}/projects`, { body: { name: 'n', slug: 's', [field]: attack } })
        expect(status).toBe(400)
        expect(performance.now() - started).toBeLessThan(2000)
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

  test('HO-04 a name that reaches one is a 400 at every depth of every body', { timeout: 90_000 }, async () => {
    for (const { operation, person, params, body } of rightfulCalls.filter((call) => call.body && call.operation.speaks === 'json')) {
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
    for (const { operation, person, params, body } of rightfulCalls)
      for (const query of queries) {
        const path = `${pathOf(operation.path, params)}?${query}`
        const answer = await live.call(bearerFor(operation, person), operation.method, path, sendingOf(operation, body))
        const refused =
          operation.speaks === 'oauth' ? { error: 'invalid_request' } : { code: 'validation_error', details: [{ in: 'query' }] }
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
    const { statuses, is_closed } = await rawExchange(live.url, [health + health], { wait_ms: 300 })
    expect({ statuses, is_closed }).toEqual({ statuses: [200, 200], is_closed: false })
  })

  test('HO-04 who is refused before his body came gets one answer, whatever comes afterwards', async () => {
    const stranger = patch + json
    for (const rest of ['Transfer-Encoding: chunked\r\n\r\n5\r\n', `Content-Length: ${health.length + 9}\r\n\r\n`])
      for (const late of ['{}{}{}{}zzz\r\n\r\n', health + health]) {
        const { statuses, is_closed } = await rawExchange(live.url, [stranger + rest, late], { between_ms: 100 })
        expect({ statuses, is_closed }).toEqual({ statuses: [401], is_closed: true })
      }
  })

  test('HO-04 a request without a host, with an odd expectation or an upgrade is answered like any other', async () => {
    const ask = async (bytes: string) => rawExchange(live.url, [bytes], { wait_ms: 300 })
    const hostless = await ask('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n')
    expect(hostless.statuses).toEqual([400])
    expect(hostless.text).toContain('"code":"invalid_request"')
    for (const header of [
      'Expect: miracles',
      'Expect: 100-continue',
      'Connection: upgrade\r\nUpgrade: h2c',
      'Connection: upgrade\r\nUpgrade: websocket',
    ]) {
      const { statuses, text } = await ask(health.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`))
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
    const { statuses, is_closed, seconds } = await rawExchange(live.url, pieces, { wait_ms: 5000 })
    expect({ statuses, is_closed }).toEqual({ statuses: [413], is_closed: true })
    expect(seconds).toBeLessThan(5)
    // A stranger is not even read.
    const stranger = await rawExchange(live.url, [`${patch}${json}Transfer-Encoding: chunked\r\n\r\n`, ...pieces.slice(1)], {
      wait_ms: 5000,
    })
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

describe('SQL', () => {
  const payloads = [
    "'",
    "''",
    '"',
    '\\',
    "' or '1'='1",
    "'; drop table users; --",
    '"; drop table users; --',
    '1; select pg_sleep(5)',
    "' || pg_sleep(5) || '",
    "') union select password from pg_shadow --",
    "' and 1=cast((select version()) as int) --",
    '$1',
    '$$;select 1;$$',
    "e'\\x27'",
    '%27%20or%201=1',
    '0x27',
    '1 order by 100--',
    "a' collate nothing",
    "{'a':1}",
    '(select 1)',
    'id; --',
    '\u02bc or 1=1',
    '\uff07 or 1=1',
    '%',
    '_',
    '%%',
  ]
  // What PostgreSQL or its driver would say.
  const insides =
    /syntax error|sqlstate|pg_catalog|pg_|postgres|relation "|column "|invalid input|unterminated|duplicate key|constraint "|node_modules|\.ts:|at \w+ \(/i
  const check = ({ status, text }: Answered, payload: string, started: number) => {
    expect(status).toBeLessThan(500)
    // An unknown field is named as it was sent; that is the caller's own text.
    const said = status >= 400 ? text.replaceAll(JSON.stringify(payload).slice(1, -1), '') : ''
    expect(said).not.toMatch(insides)
    expect(performance.now() - started).toBeLessThan(4500)
  }

  for (const { operation, person, params, body } of rightfulCalls)
    test(`HO-04 every parameter of ${operation.id} takes such a text as a text or refuses it`, async () => {
      const names = Object.keys((operation.query as { properties?: object }).properties ?? {})
      for (const [turn, payload] of payloads.entries()) {
        const path = pathOf(operation.path, params)
        const coded = encodeURIComponent(payload)
        const sends = [
          ...Object.keys(params).map((name) => [pathOf(operation.path, { ...params, [name]: payload }), body] as const),
          ...[...names, 'sort', 'order', 'filter', coded].map((name) => [`${path}?${name}=${coded}`, body] as const),
          ...Object.keys(body ?? {}).map((name) => [path, { ...body, [name]: payload }] as const),
          ...(body ? [[path, { ...body, [payload]: 1 }] as const] : []),
        ]
        // Each text in every third place, the next text in the next third; each in all of them by command.
        const tried = sends.filter((_, place) => process.env.GATEHOUSE_EVERY_TEXT === '1' || (place + turn) % 3 === 0)
        for (const [where, what] of tried) {
          const started = performance.now()
          // A stranger to the tenant: what passes every fence but the last does no harm to the next request.
          const caller = Object.keys(params).length > 0 ? 'bjorn' : bearerFor(operation, person)
          check(await live.call(caller, operation.method, where, sendingOf(operation, what)), payload, started)
        }
      }
    })

  test('HO-04 every header takes such a text or refuses it', async () => {
    const names = [
      'x-request-id',
      'x-correlation-id',
      'x-project-id',
      'idempotency-key',
      'authorization',
      'x-forwarded-for',
      'accept',
      'user-agent',
    ]
    for (const payload of payloads.filter((text) => /^[\x20-\x7e]+$/.test(text)))
      for (const name of names) {
        const started = performance.now()
        check(await live.call('alice', 'PATCH', aurora, { body: { name: 'Aurora' }, headers: { [name]: payload } }), payload, started)
      }
  })

  test('HO-04 such a name is kept as it is, and nothing else happened', async () => {
    for (const payload of payloads) {
      const { status, body } = await live.call('alice', 'PATCH', aurora, { body: { name: payload, reason: payload } })
      expect(status).toBe(200)
      expect(body.name).toBe(payload.normalize('NFC'))
    }
    const [row] = await live.sql<{ people: number }>('select count(*)::int as people from users')
    expect(row!.people).toBeGreaterThanOrEqual(seeded.usernames.length)
  })

  test('the search for the database’s words finds them where they are', () => {
    expect('error: syntax error at or near "drop"').toMatch(insides)
    expect('duplicate key value violates unique constraint "x"').toMatch(insides)
    expect('{"code":"validation_error","message":"The request does not fit its schema; details name each field."}').not.toMatch(insides)
  })
})

describe('hostile strings', () => {
  const strings: string[] = hasPart('vectors') ? JSON.parse(readFileSync(parts.vectors.path, 'utf8')) : []
  const nfc = (text: string) => text.normalize('NFC')
  /** Runs them a few at a time, in order of their number. */
  const each = async (run: (text: string, number: number) => Promise<void>) => {
    let next = 0
    const lane = async () => {
      for (let number = next++; number < strings.length; number = next++) await run(strings[number]!, number)
    }
    await Promise.all([lane(), lane(), lane(), lane()])
  }
  const only = (expected: number, { status, text }: Answered) => {
    if (status !== expected && status !== 400) throw new Error(`${status} is neither ${expected} nor 400: ${text}`)
    return status === expected
  }
  const reasons = async (prefix: string) =>
    new Map(
      (
        await live.sql<{ correlation_id: string; reason: string | null }>(
          `select correlation_id, metadata ->> 'reason' as reason from audit_logs where correlation_id like $1 || '%' and result = 'success'`,
          [prefix],
        )
      ).map(({ correlation_id, reason }) => [correlation_id, reason]),
    )
  const sent = (number: number, field: string) => ({ headers: { 'x-request-id': `naughty-${field}-${number}` } })
  const needs = test.skipIf(!hasPart('vectors'))

  const listAll = async (person: string, path: string) => {
    const items = new Map<string, { name: string }>()
    for (let cursor = ''; ; ) {
      const { body } = await live.call(person, 'GET', `${path}?limit=200${cursor}`)
      for (const item of body.items) items.set(item.id, item)
      if (body.next_cursor === null) return items
      cursor = `&cursor=${body.next_cursor}`
    }
  }

  for (const [what, person, path, read] of [
    ['organization', 'ada', '/api/v1/orgs', (id: string) => `/api/v1/orgs/${id}`],
    ['project', 'alice', `${aurora}/projects`, (id: string) => `/api/v1/projects/${id}`],
  ] as const)
    needs(
      `HO-04 as name, slug, owner and reason of a new ${what}, and as its new name: kept in NFC form or refused (needs vectors)`,
      async () => {
        const made = new Map<string, string>()
        const owner_user_id = user('anna')
        await each(async (text, n) => {
          const base = { name: 'N', slug: `n-${n}`, owner_user_id }
          const named = await live.call(person, 'POST', path, { body: { ...base, name: text } })
          if (only(201, named)) {
            expect(named.body.name).toBe(nfc(text))
            made.set(named.body.id, nfc(text))
            expect((await live.call('anna', 'GET', read(named.body.id))).body.name).toBe(nfc(text))
            const [renamer, renamed] = what === 'project' ? ['adam', `${text}!`] : ['anna', `${text}!`]
            const again = await live.call(renamer, 'PATCH', read(named.body.id), {
              body: { name: renamed, reason: text },
              ...sent(n, `${what}-rename`),
            })
            if (only(200, again)) made.set(named.body.id, nfc(renamed))
          }
          const slugged = await live.call(person, 'POST', path, { body: { ...base, slug: text } })
          if (slugged.status !== 409 && only(201, slugged)) expect(slugged.body.slug).toBe(text)
          expect(only(201, await live.call(person, 'POST', path, { body: { ...base, owner_user_id: text } }))).toBe(false)
          const body = { ...base, slug: `r-${n}`, reason: text }
          const reasoned = await live.call(person, 'POST', path, { body, ...sent(n, `${what}-create`) })
          if (only(201, reasoned)) made.set(reasoned.body.id, 'N')
        })
        const listed = await listAll('ada', path)
        for (const [id, name] of made) expect(listed.get(id)?.name).toBe(name)
        for (const field of ['create', 'rename'])
          for (const [id, reason] of await reasons(`naughty-${what}-${field}-`))
            expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
        expect(made.size).toBeGreaterThan(strings.length)
      },
      120_000,
    )

  needs(
    'HO-04 as the reason of what is ended, suspended, archived or disabled, and of its return (needs vectors)',
    async () => {
      const pairs = [
        ['ada', `/api/v1/orgs/${org.borealis}`, 'suspend', 'resume'],
        ['adam', `/api/v1/projects/${project.aurora}`, 'archive', 'restore'],
        ['ada', `/api/v1/admin/users/${user('bodo')}`, 'disable', 'enable'],
      ] as const
      let kept = 0
      for (const [n, text] of strings.entries()) {
        await Promise.all(
          pairs.map(async ([person, path, there, back]) => {
            const gone = await live.call(person, 'POST', `${path}/${there}`, { body: { reason: text }, ...sent(n, there) })
            if (!only(200, gone)) return
            kept += 1
            expect(only(200, await live.call(person, 'POST', `${path}/${back}`, { body: { reason: text }, ...sent(n, back) }))).toBe(true)
          }),
        )
      }
      expect(kept).toBeGreaterThan(strings.length)
      for (const [, , there, back] of pairs)
        for (const field of [there, back]) {
          const recorded = await reasons(`naughty-${field}-`)
          expect(recorded.size).toBe(kept / 3)
          for (const [id, reason] of recorded) expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
        }
    },
    120_000,
  )

  needs(
    'HO-04 as every text of a membership, and of its end (needs vectors)',
    async () => {
      const members = await live.sql<{ id: string }>(
        `with made as (
         insert into users (id, username, oidc_issuer, oidc_subject, created_at)
         select gen_random_uuid(), 'naughty-' || n, 'https://naughty.example', n, now() from generate_series(1, $1) n returning id)
       insert into tenant_memberships (id, tenant_id, user_id, created_at) select gen_random_uuid(), $2, id, now() from made returning user_id as id`,
        [strings.length, org.aurora],
      )
      const path = `/api/v1/projects/${project.aurora}/members`
      await each(async (text, n) => {
        const user_id = members[n]!.id
        const body = { user_id, role_name: 'project_viewer' }
        const role = await live.call('amara', 'POST', path, { body: { ...body, role_name: text } })
        if (role.status !== 404) expect(role.status).toBe(400)
        expect(only(201, await live.call('amara', 'POST', path, { body: { ...body, user_id: text } }))).toBe(false)
        const added = await live.call('amara', 'POST', path, { body: { ...body, reason: text }, ...sent(n, 'add') })
        if (!only(201, added)) return
        expect(only(204, await live.call('amara', 'DELETE', `${path}/${user_id}`, { body: { reason: text }, ...sent(n, 'remove') }))).toBe(
          true,
        )
        expect(
          only(204, await live.call('alice', 'DELETE', `${aurora}/members/${user_id}`, { body: { reason: text }, ...sent(n, 'leave') })),
        ).toBe(true)
      })
      for (const field of ['add', 'remove', 'leave']) {
        const recorded = await reasons(`naughty-${field}-`)
        expect(recorded.size).toBeGreaterThan(strings.length / 2)
        for (const [id, reason] of recorded) expect(reason).toBe(nfc(strings[Number(id.split('-').at(-1))]!))
      }
    },
    120_000,
  )

  needs(
    'HO-04 in a path and in a query: a 400 or nothing to be found, never more (needs vectors)',
    async () => {
      await each(async (text) => {
        const coded = encodeURIComponent(text)
        for (const path of [
          `/api/v1/orgs/${coded}`,
          `/api/v1/orgs?cursor=${coded}`,
          `/api/v1/orgs?limit=${coded}`,
          `/api/v1/orgs?${coded}=1`,
        ]) {
          const { status } = await live.call('anna', 'GET', path)
          const isMeant = /[?]limit=(?:[1-9]\d?|1\d\d|200)$/.test(path) || text === '' || text === '.' || text === '..'
          if (!isMeant) expect({ path, status }).toEqual({ path, status: 400 })
          expect(status).toBeLessThan(500)
        }
      })
    },
    60_000,
  )
})

describe('slowness, at last', () => {
  test('HO-04 every slow socket was closed within 15 s, none in a hurry, none answered twice', async () => {
    const closed = await slow
    expect(closed.filter(({ is_closed }) => !is_closed)).toEqual([])
    const seconds = closed.map((each) => each.seconds)
    expect(Math.max(...seconds)).toBeLessThan(15)
    expect(Math.min(...seconds)).toBeGreaterThan(5)
    expect(closed.filter(({ statuses }) => statuses[0] === 408).length).toBeGreaterThanOrEqual(24)
    for (const { statuses } of closed) expect(statuses.length).toBeLessThanOrEqual(1)
  }, 30_000)
})
