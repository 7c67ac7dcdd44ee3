import { Writable } from 'node:stream'
import fastify, { type FastifyBaseLogger } from 'fastify'
import { expect, test } from 'vitest'
import { processorMs } from '../../../../test/cpu-time.ts'
import { Problem } from '../kernel/problem.ts'
import { Secret } from '../kernel/secret.ts'
import { loggerOptions } from './logger-options.ts'
import { scrub } from './scrub.ts'

/** The product's own logger, writing to where a test can read it. */
const logger = (level = 'trace') => {
  const lines: string[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk))
      done()
    },
  })
  const { log } = fastify({ logger: { ...loggerOptions(level), stream } })
  return { log, lines, parsed: () => lines.map((line) => JSON.parse(line)) }
}

const canary = 'CANARY-2f9a41'
const jwt = `eyJhbGciOiJFUzI1NiJ9.${Buffer.from(canary.repeat(3)).toString('base64url')}.c2lnbmF0dXJl`
const pem = `-----BEGIN PRIVATE KEY-----\nMIGH${canary}AgEAMBMG\n-----END PRIVATE KEY-----`

/** As pg makes it: what it knows about the row and the statement hangs on the error. */
const databaseError = () =>
  Object.assign(new Error('duplicate key value violates unique constraint "users_once"'), {
    name: 'DatabaseError',
    code: '23505',
    constraint: 'users_once',
    detail: `Key (secret)=(${canary}) already exists.`,
    where: `SQL statement with ${canary}`,
    hint: canary,
    query: `select '${canary}'`,
    parameters: [canary],
    internalQuery: canary,
  })

test('AU-06 an error keeps its kind, place and causes, and nothing of the row it is about', () => {
  const { log, lines, parsed } = logger()
  log.error({ err: new Problem('dependency_unavailable', { because: canary }, new Error('outer', { cause: databaseError() })) }, 'failed')
  const { err } = parsed()[0]
  expect(err).toMatchObject({ type: 'Problem', code: 'dependency_unavailable', cause: { message: 'outer', cause: { code: '23505' } } })
  expect(err.cause.cause).toMatchObject({ type: 'DatabaseError', constraint: 'users_once' })
  expect(err.cause.cause.stack).toContain('logger-options.test.ts')
  expect(Object.keys(err.cause.cause).sort()).toEqual(['code', 'constraint', 'message', 'stack', 'type'])
  expect(lines.join()).not.toContain(canary)
})

const looser: readonly (readonly [string, (log: FastifyBaseLogger) => void])[] = [
  ['under another name', (log) => log.error({ reason: databaseError() }, 'failed')],
  ['deep in an object', (log) => log.error({ a: { b: [{ c: databaseError() }] } }, 'failed')],
  ['by a child logger', (log) => log.child({ err: databaseError() }).error('failed')],
  ['bare', (log) => log.error(databaseError())],
  ['as one of several', (log) => log.error({ err: new AggregateError([databaseError()], 'all failed') }, 'failed')],
  ['with another as its cause', (log) => log.error({ err: Object.assign(databaseError(), { cause: databaseError() }) }, 'failed')],
]

test.for(looser)('AU-06 an error that is logged %s tells no more', ([, say]) => {
  const { log, lines } = logger()
  say(log)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('users_once')
  expect(lines[0]).not.toContain(canary)
})

test('AU-06 a refused value is not repeated by the sentence that refuses it', () => {
  const { log, lines } = logger()
  log.error({ err: Object.assign(new Error(`invalid input syntax for type uuid: "${canary}"`), { code: '22P02' }) }, 'failed')
  try {
    JSON.parse(`{"a": ${canary}}`)
  } catch (error) {
    log.error({ err: error }, 'failed')
  }
  expect(lines).toHaveLength(2)
  expect(lines.join()).not.toContain(canary)
  expect(lines[0]).toContain('invalid input syntax for type uuid')
})

test('AU-06 an error that is its own cause ends somewhere', () => {
  const { log, lines } = logger()
  const error = new Error('round')
  error.cause = error
  log.error({ err: error }, 'failed')
  expect(lines).toHaveLength(1)
})

test.for([
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'client_secret',
  'clientSecret',
  'secret',
  'password',
  'token',
  'access_token',
  'accessToken',
  'refresh_token',
  'private_key',
  'privateKey',
  'api_key',
  'cursor_key',
  'idempotency-key',
  'credential',
  'client_assertion',
])('AU-06 what is called %s is not written, at any depth', (name) => {
  const { log, lines } = logger()
  for (const members of [{ [name]: canary }, { headers: { [name]: canary } }, { a: [{ b: { [name]: { value: canary } } }] }])
    log.info(members, 'said')
  log.child({ [name]: canary }).info('said')
  expect(lines).toHaveLength(4)
  for (const line of lines) {
    expect(line).toContain('[redacted]')
    expect(line).not.toContain(canary)
  }
})

test.for([
  ['a token', jwt],
  ['half a token', jwt.slice(0, 60)],
  ['a token with a spaced header', `${Buffer.from(`{ "alg": "none", "x": "${canary}" }`).toString('base64url')}.e30.`],
  ['a private key', pem],
  ['a cut private key', pem.slice(0, 55)],
  ['a bearer header', `sent Bearer ${canary}`],
  ['a basic header', `authorization: basic ${canary}`],
  ['a database address', `postgres://gatehouse_app:${canary}@db.example.com:5432/gatehouse`],
  ['a connection string', `host=db password=${canary} user=app`],
  ['a query', `GET /api/v1/me?access_token=${canary}&x=${canary} failed`],
  ['printed JSON', JSON.stringify({ kty: 'EC', crv: 'P-256', d: canary, client_secret: canary })],
])('AU-06 %s is blotted out of a sentence, a member and an error', ([, text]) => {
  const { log, lines, parsed } = logger()
  log.info(text!)
  log.info({ said: text, deep: { said: [text] } }, 'said')
  log.error({ err: new Error(`it was ${text}`, { cause: new Error(text) }) }, 'said')
  const parts = [canary, Buffer.from(canary.repeat(3)).toString('base64url').slice(0, 20), 'MIGH', 'eyJhbGciOi', 'eyAiYWxn']
  for (const part of parts) expect(lines.join()).not.toContain(part)
  // Blotting leaves lines of JSON.
  expect(parsed()).toHaveLength(3)
})

test('AU-06 ordinary lines are left alone', () => {
  const plain = '{"operation":"project.list","route":"/api/v1/orgs/:org_id/projects","message":"the bearer token is not valid, ask why?"}'
  expect(scrub(plain)).toBe(plain)
})

test('AU-06 a long hostile line costs little', () => {
  const texts = [
    'ey-'.repeat(50_000),
    'a'.repeat(200_000),
    '/a'.repeat(100_000),
    '-----BEGIN PRIVATE KEY-----'.repeat(5000),
    '://'.repeat(60_000),
  ]
  for (const text of texts) expect(processorMs(() => scrub(text))).toBeLessThan(2000)
})

test('AU-06 a Secret prints as [secret], bytes and foreign objects not at all', () => {
  const { log, lines, parsed } = logger()
  const bytes = Buffer.from(canary)
  log.info(
    { held: new Secret(canary), at: new URL(`https://u:${canary}@example.com/`), bytes, deep: { view: new Uint8Array(bytes) } },
    'said',
  )
  expect(parsed()[0]).toMatchObject({ held: '[secret]', bytes: '[object]', deep: { view: '[object]' } })
  expect(lines[0]).not.toContain(canary)
  expect(lines[0]).not.toContain([...bytes.subarray(0, 4)].join(','))
})

test('AU-06 every line has one correlation id: its request, or the process', () => {
  const { log, lines, parsed } = logger()
  log.info('started')
  log.warn({ err: new Error('x') }, 'sweep failed')
  log.child({ correlation_id: 'abc' }).info('request')
  const ids = parsed().map(({ correlation_id }) => correlation_id)
  expect(ids).toEqual([ids[0], ids[0], 'abc'])
  expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/)
  for (const line of lines) expect(line.split('"correlation_id"')).toHaveLength(2)
})

test('AU-06 what throws when it is looked at costs its members, not the line', () => {
  const { log, parsed } = logger()
  log.info(
    {
      deep: {
        get trap() {
          throw new Error('looked')
        },
      },
    },
    'said',
  )
  expect(parsed()[0]).toMatchObject({ message: 'said', level: 'info' })
})
