import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import Type from 'typebox'
import { afterEach, expect, expectTypeOf, test, vi } from 'vitest'
import { retryAfter } from './answers.ts'
import { type ClientSettings, client, NoAnswerError, ProblemError, UnexpectedAnswerError } from './client.ts'
import { issueOAuthToken } from './oauth.ts'
import { listOperation, operation } from './operation.ts'
import { createAttachment, listAttachments } from './runtime-attachments.ts'
import { Exactly, Id, Named, OneOf } from './shapes.ts'
import { readSharedRuntime } from './shared-runtimes.ts'

const Thing = Named('Thing', { id: Type.String(), size: Type.Integer() })
const declared = { summary: 'x', actors: ['user'], action: 'x', problems: [] } as const
const path = '/things/:thing_id'
const params = { thing_id: Id('thing') }
const readThing = operation({ ...declared, id: 'thing.read', method: 'GET', path, effect: 'read', params, reply: Thing })
const makeThing = operation({
  ...declared,
  id: 'thing.make',
  method: 'POST',
  path: '/things',
  effect: 'change',
  body: Exactly({ size: Type.Integer(), colour: Type.Optional(OneOf(['red'])) }),
  reply: Thing,
  success: 201,
})
const dropThing = operation({ ...declared, id: 'thing.drop', method: 'DELETE', path, effect: 'change', params })
/** Nothing makes a second one known as such. */
const pokeThing = operation({ ...declared, id: 'thing.poke', method: 'GET', path: '/poke', effect: 'change', reply: Thing })
const getToken = operation({ ...declared, id: 'token.get', method: 'POST', path: '/token', effect: 'change', identified_by: 'credential' })
const listThings = listOperation({
  ...declared,
  id: 'thing.list',
  path: '/things',
  query: { size: Type.Optional(Type.Integer()) },
  item: Thing,
})

interface Heard {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
}
type Manner = (response: ServerResponse, heard: Heard, tried: number) => void

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A real server, with such manners. */
const serving = async (manner: Manner) => {
  const all: Heard[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const heard = { method: request.method!, url: request.url!, headers: request.headers, text }
    all.push(heard)
    manner(response, heard, all.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(async () => {
    server.closeAllConnections()
    await new Promise((end) => server.close(end))
  })
  return { all, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const quick = { first_pause_ms: 2, longest_pause_ms: 3000, timeout_ms: 60_000, token: async () => 'opaque' } as const
const meeting = async (manner: Manner, more: Partial<ClientSettings> = {}) => {
  const { all, url } = await serving(manner)
  return { all, url, ...client({ url, ...quick, ...more }) }
}
const say = (response: ServerResponse, status: number, body?: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body === undefined ? undefined : JSON.stringify(body))
const refuse = (response: ServerResponse, status: number, code: string, headers = {}, details?: object) =>
  say(response, status, { code, message: 'no', correlation_id: 'c-1', ...(details ? { details } : {}) }, headers)

/** Calls `act` with each pause that is as long as a Retry-After, instead of waiting; others are waited for. */
const insteadOfWaiting = (act: (milliseconds: number, wake: () => void) => void) => {
  const wait = globalThis.setTimeout
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((wake: () => void, milliseconds = 0, ...more: []) => {
    if (milliseconds < 1000 || !new Error().stack?.includes('client.ts')) return wait(wake, milliseconds, ...more)
    act(milliseconds, wake)
    return wait(() => {}, 0)
  }) as typeof setTimeout)
}

const id = '01a1df61-26a4-7000-8000-000000000001'
const thing = { id: 'a', size: 1 }
const failing = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(Error)
  return error as Error
}

test('a call sends what its operation declares, and nothing more', async () => {
  const { call, all } = await meeting((response, { method }) =>
    say(response, method === 'POST' ? 201 : method === 'GET' ? 200 : 204, method === 'DELETE' ? undefined : thing),
  )
  expect(await call(readThing, { params: { thing_id: id } })).toEqual(thing)
  expect(await call(makeThing, { body: { size: 1 } })).toEqual(thing)
  expect(await call(dropThing, { params: { thing_id: id }, idempotency_key: 'mine' })).toBeUndefined()
  expect(all.map(({ method, url, text }) => [method, url, text])).toEqual([
    ['GET', `/things/${id}`, ''],
    ['POST', '/things', '{"size":1}'],
    ['DELETE', `/things/${id}`, ''],
  ])
  expect(all.map(({ headers }) => headers.authorization)).toEqual(['Bearer opaque', 'Bearer opaque', 'Bearer opaque'])
  expect(all.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, expect.stringMatching(/^[0-9a-f-]{36}$/), 'mine'])
  expect(all.map(({ headers }) => headers['content-type'])).toEqual([undefined, 'application/json', undefined])
})

test('the types of a call are those of its operation', () => {
  const { call, each } = client({ url: 'http://127.0.0.1:1' })
  const here = { params: { org_id: 'o', shared_runtime_id: 'r' } }
  const ways = () => [
    call(readSharedRuntime, here),
    each(listAttachments, { ...here, query: { state: 'detached', limit: 3 } }),
    call(createAttachment, { ...here, body: { project_id: 'p', contribution_policy: 'all' } }),
    // @ts-expect-error: a body is missing
    call(createAttachment, here),
    // @ts-expect-error: a parameter is missing
    call(readSharedRuntime, { params: { org_id: 'o' } }),
    // @ts-expect-error: there is no such state
    each(listAttachments, { ...here, query: { state: 'lost' } }),
    // @ts-expect-error: it is no list
    each(readSharedRuntime, here),
  ]
  expectTypeOf(ways).returns.toBeArray()
  const read = () => call(readSharedRuntime, here)
  expectTypeOf(read).returns.resolves.toHaveProperty('reported_sequence').toEqualTypeOf<number>()
})

test('a refusal comes as what it says', async () => {
  const { call, all } = await meeting((response) =>
    refuse(response, 403, 'insufficient_permissions', {}, { reason_code: 'membership_missing' }),
  )
  const error = await failing(call(readThing, { params: { thing_id: id } }))
  expect(error).toBeInstanceOf(ProblemError)
  expect(error).toMatchObject({
    operation_id: 'thing.read',
    status: 403,
    code: 'insufficient_permissions',
    reason_code: 'membership_missing',
    correlation_id: 'c-1',
    retry_after_seconds: undefined,
    message: 'thing.read: 403 insufficient_permissions (membership_missing)',
  })
  expect(all).toHaveLength(1)
})

test('a connection that is cut is tried again with the same key, and no more than so often', async () => {
  const cut = await meeting((response, _, tried) => (tried < 3 ? response.socket!.destroy() : say(response, 201, thing)))
  expect(await cut.call(makeThing, { body: { size: 1 } })).toEqual(thing)
  expect(cut.all).toHaveLength(3)
  expect(new Set(cut.all.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)

  const dead = await meeting((response) => response.socket!.destroy())
  expect(await failing(dead.call(makeThing, { body: { size: 1 } }))).toBeInstanceOf(NoAnswerError)
  expect(dead.all).toHaveLength(4)
})

test('an answer that is cut in the middle is none', async () => {
  const { call, all } = await meeting((response, _, tried) => {
    if (tried > 1) return say(response, 200, thing)
    response.writeHead(200, { 'content-length': '1000' }).write('{"id":')
    setTimeout(() => response.socket?.destroy(), 20)
  })
  expect(await call(readThing, { params: { thing_id: id } })).toEqual(thing)
  expect(all).toHaveLength(2)
})

test('what cannot be told from a second one is asked once', async () => {
  const { call, all } = await meeting((response) => response.socket!.destroy())
  expect(await failing(call(pokeThing))).toBeInstanceOf(NoAnswerError)
  expect(all).toHaveLength(1)
})

test('Retry-After is waited for, and too long a wait is the caller’s to decide', async () => {
  const soon = await meeting((response, _, tried) =>
    tried === 1 ? refuse(response, 503, 'dependency_unavailable', { 'retry-after': '1' }) : say(response, 200, thing),
  )
  const waited: number[] = []
  insteadOfWaiting((milliseconds, wake) => {
    waited.push(Math.floor(milliseconds / 1000))
    wake()
  })
  expect(await soon.call(readThing, { params: { thing_id: id } })).toEqual(thing)
  expect(waited).toEqual([1])

  const late = await meeting((response) => refuse(response, 429, 'rate_limit_exceeded', { 'retry-after': '3600' }))
  expect(await failing(late.call(readThing, { params: { thing_id: id } }))).toMatchObject({ status: 429, retry_after_seconds: 3600 })
  expect(late.all).toHaveLength(1)

  const proxy = await meeting((response, _, tried) =>
    tried === 1 ? response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway') : say(response, 200, thing),
  )
  expect(await proxy.call(readThing, { params: { thing_id: id } })).toEqual(thing)
})

test.for([
  ['5', 5],
  ['Sun, 06 Nov 1994 08:49:40 GMT', 3],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['soon', undefined],
  ['-5', undefined],
  [null, undefined],
] as const)('Retry-After %s is %s', ([said, seconds]) => {
  expect(retryAfter(said, Date.parse('1994-11-06T08:49:37Z'))).toBe(seconds)
})

test('a change that is still running is asked about until it is done', async () => {
  const { call } = await meeting((response, _, tried) =>
    tried < 3 ? refuse(response, 409, 'idempotency_in_progress') : say(response, 201, thing),
  )
  expect(await call(makeThing, { body: { size: 1 } })).toEqual(thing)
})

test('other refusals are not asked again', async () => {
  for (const [status, code] of [
    [400, 'validation_error'],
    [409, 'state_conflict'],
    [500, 'internal_error'],
  ] as const) {
    const { call, all } = await meeting((response) => refuse(response, status, code))
    expect(await failing(call(readThing, { params: { thing_id: id } }))).toMatchObject({ status, code })
    expect(all).toHaveLength(1)
  }
})

test.for([
  ['another shape', '{"id":"a","size":"large"}'],
  ['a member missing', '{"id":"a"}'],
  ['no JSON', '<html>'],
  ['nothing', ''],
  ['another value', 'null'],
] as const)('%s is not taken for an answer', async ([, text]) => {
  const { call, all } = await meeting((response) => response.writeHead(200).end(text))
  expect(await failing(call(readThing, { params: { thing_id: id } }))).toBeInstanceOf(UnexpectedAnswerError)
  expect(all).toHaveLength(1)
})

test('what only a later server says is left out, and another success is none', async () => {
  const later = await meeting((response) => say(response, 200, { ...thing, weight: 3 }))
  expect(await later.call(readThing, { params: { thing_id: id } })).toEqual(thing)
  const other = await meeting((response) => say(response, 202, thing))
  expect(await failing(other.call(readThing, { params: { thing_id: id } }))).toBeInstanceOf(UnexpectedAnswerError)
  const page = await meeting((response) => response.writeHead(404).end('not here'))
  expect(await failing(page.call(readThing, { params: { thing_id: id } }))).toMatchObject({ name: 'UnexpectedAnswerError', status: 404 })
})

test('an answer without end is read so far and no further', async () => {
  let sent = 0
  const endless = await meeting(
    (response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) sent += 65_536
        sent += 65_536
      }
      response.on('drain', more)
      more()
    },
    { longest_answer_bytes: 200_000 },
  )
  expect((await failing(endless.call(readThing, { params: { thing_id: id } }))).message).toBe('thing.read: 200 the answer is too long')
  expect(sent).toBeLessThan(32 * 1024 * 1024)

  // Small on the way, large when unpacked.
  const bomb = await meeting((response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(' '.repeat(5_000_000))), {
    longest_answer_bytes: 200_000,
  })
  expect((await failing(bomb.call(readThing, { params: { thing_id: id } }))).message).toContain('too long')
})

test('an answer that comes a byte at a time holds nobody for ever', async () => {
  // Its time is over when some of the answer has come.
  const times: { milliseconds: number; end: () => void }[] = []
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    const ending = new AbortController()
    times.push({ milliseconds, end: () => ending.abort(new DOMException('', 'TimeoutError')) })
    return ending.signal
  })
  const { call, all } = await meeting(
    (response) => {
      let left = 5
      response.writeHead(200)
      const timer = setInterval(() => {
        response.write(' ')
        left -= 1
        if (left === 0) times.at(-1)!.end()
      }, 5)
      response.once('close', () => clearInterval(timer))
    },
    { timeout_ms: 150, tries: 2 },
  )
  expect((await failing(call(readThing, { params: { thing_id: id } }))).message).toBe('thing.read: no answer in time')
  expect(all).toHaveLength(2)
  expect(times.map(({ milliseconds }) => milliseconds)).toEqual([150, 150])
})

test.for([301, 302, 303, 307, 308])('TI-24 a token does not follow where %i points', async (status) => {
  const elsewhere = await serving((response) => say(response, 200, thing))
  const { call, all } = await meeting((response) => response.writeHead(status, { location: `${elsewhere.url}/things` }).end())
  expect(await failing(call(readThing, { params: { thing_id: id } }))).toMatchObject({ name: 'UnexpectedAnswerError', status })
  expect(await failing(call(makeThing, { body: { size: 1 } }))).toMatchObject({ name: 'UnexpectedAnswerError', status })
  expect(all).toHaveLength(2)
  expect(elsewhere.all).toEqual([])
})

test('TI-24 a token that is not accepted is asked for anew, once', async () => {
  const asked: (string | undefined)[] = []
  const token = async (refused?: string) => {
    asked.push(refused)
    return refused === undefined ? 'old' : 'new'
  }
  const manner: Manner = (response, { headers }) =>
    headers.authorization === 'Bearer new' ? say(response, 201, thing) : refuse(response, 401, 'token_expired')
  const { call, all } = await meeting(manner, { token })
  expect(await call(makeThing, { body: { size: 1 } })).toEqual(thing)
  expect(asked).toEqual([undefined, 'old'])
  expect(new Set(all.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)

  const stubborn = await meeting((response) => refuse(response, 401, 'token_invalid'), { token })
  expect(await failing(stubborn.call(readThing, { params: { thing_id: id } }))).toMatchObject({ status: 401 })
  expect(stubborn.all).toHaveLength(2)

  const same = await meeting((response) => refuse(response, 401, 'token_invalid'))
  expect(await failing(same.call(readThing, { params: { thing_id: id } }))).toMatchObject({ status: 401 })
  expect(same.all).toHaveLength(1)
})

test('where the credential is in the body no token is shown or asked for', async () => {
  const { call, all } = await meeting((response) => say(response, 204), {
    token: async () => {
      throw new Error('was asked for')
    },
  })
  await call(getToken)
  expect(all[0]!.headers.authorization).toBeUndefined()
})

test('what fails where the token is got is not tried again for each call', async () => {
  let asked = 0
  const { call, all } = await meeting((response) => say(response, 200, thing), {
    token: async () => {
      asked += 1
      throw new NoAnswerError('token.get', 'ECONNREFUSED')
    },
  })
  expect(await failing(call(readThing, { params: { thing_id: id } }))).toMatchObject({ operation_id: 'token.get' })
  expect([asked, all.length]).toEqual([1, 0])
})

test('TI-24 no error repeats the token, the body, or a password in an address', async () => {
  const secret = 'canary-9d2f'
  const said: string[] = []
  const keep = async (call: Promise<unknown>) => {
    const error = await failing(call)
    said.push(error.message, JSON.stringify(error), String(error.stack), String(error.cause))
  }
  const { call, url } = await meeting((response) => response.socket!.destroy(), { token: async () => `${secret}\r\nx: y`, tries: 1 })
  await keep(call(readThing, { params: { thing_id: id } }))
  expect(await failing(call(readThing, { params: { thing_id: id } }))).toBeInstanceOf(TypeError)
  const cut = client({ url, ...quick, tries: 1, token: async () => secret })
  await keep(cut.call(makeThing, { body: { size: 1, colour: secret as 'red' } }))
  await keep((async () => client({ url: `http://me:${secret}@127.0.0.1/` }))())
  const echo = await meeting((response, { headers }) => response.writeHead(200).end(headers.authorization), { token: async () => secret })
  await keep(echo.call(readThing, { params: { thing_id: id } }))
  expect(said.join('\n')).not.toContain(secret)
})

test('an id that leads elsewhere is not sent', async () => {
  const { call, all } = await meeting((response) => say(response, 200, thing))
  for (const thing_id of ['..', '../admin', '', 'a/b', `${id}?x=1`])
    expect(await failing(call(readThing, { params: { thing_id } }))).toBeInstanceOf(TypeError)
  expect(await failing(call(makeThing, { body: { size: 1 }, idempotency_key: 'a\nb' }))).toBeInstanceOf(TypeError)
  expect(await failing(call(issueOAuthToken, { body: { grant_type: 'client_credentials' } }))).toBeInstanceOf(TypeError)
  expect(all).toEqual([])
})

test.for(['nowhere', 'ftp://127.0.0.1/', 'http://127.0.0.1/?a=1', 'http://a:b@127.0.0.1/'])('%s is not where a server is', (url) => {
  expect(() => client({ url })).toThrow(TypeError)
})

test('a path before that of the operation is kept', async () => {
  const { url, all } = await meeting((response) => say(response, 200, thing))
  await client({ url: `${url}/gate/`, ...quick }).call(readThing, { params: { thing_id: id } })
  expect(all[0]!.url).toBe(`/gate/things/${id}`)
})

test('a list is read page by page, and what was asked for stays', async () => {
  const { each, pages, all } = await meeting((response, { url }) => {
    const cursor = new URL(url, 'http://x').searchParams.get('cursor')
    const next = { null: 'one', one: 'two', two: null }[String(cursor)] ?? null
    say(response, 200, { items: cursor === 'one' ? [] : [{ id: String(cursor), size: 7 }], next_cursor: next })
  })
  const seen: string[] = []
  for await (const { id: one } of each(listThings, { query: { size: 7, limit: 1 } })) seen.push(one)
  expect(seen).toEqual(['null', 'two'])
  expect(all.map(({ url }) => url)).toEqual([
    '/things?size=7&limit=1',
    '/things?size=7&limit=1&cursor=one',
    '/things?size=7&limit=1&cursor=two',
  ])

  const sizes: number[] = []
  for await (const items of pages(listThings)) {
    sizes.push(items.length)
    if (sizes.length === 2) break
  }
  expect(sizes).toEqual([1, 0])
  expect(all).toHaveLength(5)
})

test('a list that does not go on, or has become invalid, ends in an error', async () => {
  const circle = await meeting((response) => say(response, 200, { items: [thing], next_cursor: 'again' }))
  const seen: unknown[] = []
  const read = async () => {
    for await (const one of circle.each(listThings)) seen.push(one)
  }
  expect(await failing(read())).toBeInstanceOf(UnexpectedAnswerError)
  expect(seen).toEqual([thing, thing])

  const gone = await meeting((response, { url }) =>
    url.includes('cursor') ? refuse(response, 400, 'cursor_invalid') : say(response, 200, { items: [thing], next_cursor: 'next' }),
  )
  const readOn = async () => {
    for await (const one of gone.each(listThings)) seen.push(one)
  }
  expect(await failing(readOn())).toMatchObject({ code: 'cursor_invalid' })
})

test('whoever calls it off waits no longer', async () => {
  const end = new AbortController()
  const silent = await meeting(() => end.abort(new Error('called off')))
  expect((await failing(silent.call(readThing, { params: { thing_id: id }, signal: end.signal }))).message).toBe('called off')
  expect(silent.all).toHaveLength(1)

  const busy = await meeting((response) => refuse(response, 503, 'dependency_unavailable', { 'retry-after': '2' }))
  const later = new AbortController()
  // Amid a pause that nobody ends.
  insteadOfWaiting(() => setImmediate(() => later.abort(new Error('called off'))))
  const paused = failing(busy.call(readThing, { params: { thing_id: id }, signal: later.signal }))
  expect((await paused).message).toBe('called off')
  expect(busy.all).toHaveLength(1)
})
