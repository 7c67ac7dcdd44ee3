import { describe, expect, test } from 'vitest'
import { bearerFor, pathOf, rightfulCalls, sendingOf } from '../../../../test/fuzz/rightful-calls.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { sweep } from '../../../../test/sweep.ts'

const aurora = `/api/v1/orgs/${seeded.org.aurora}`
const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } })

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
  const check = ({ status, text }: Answered, payload: string) => {
    expect(status).toBeLessThan(500)
    // An unknown field is named as it was sent; that is the caller's own text.
    const said = status >= 400 ? text.replaceAll(JSON.stringify(payload).slice(1, -1), '') : ''
    expect(said).not.toMatch(insides)
  }

  for (const { operation, person, params, body } of sweep('texts of SQL', rightfulCalls, 70))
    test(`HO-04 every parameter of ${operation.id} takes such a text as a text or refuses it`, async () => {
      const names = Object.keys((operation.query as { properties?: object }).properties ?? {})
      for (const payload of sweep(operation.id, payloads, 1)) {
        const path = pathOf(operation.path, params)
        const coded = encodeURIComponent(payload)
        const sends = [
          ...Object.keys(params).map((name) => [pathOf(operation.path, { ...params, [name]: payload }), body] as const),
          ...[...names, 'sort', 'order', 'filter', coded].map((name) => [`${path}?${name}=${coded}`, body] as const),
          ...Object.keys(body ?? {}).map((name) => [path, { ...body, [name]: payload }] as const),
          ...(body ? [[path, { ...body, [payload]: 1 }] as const] : []),
        ]
        for (const [where, what] of sends) {
          // A stranger to the tenant: what passes every fence but the last does no harm to the next request.
          const caller = Object.keys(params).length > 0 ? 'bjorn' : bearerFor(operation, person)
          check(await live.call(caller, operation.method, where, sendingOf(operation, what)), payload)
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
        check(await live.call('alice', 'PATCH', aurora, { body: { name: 'Aurora' }, headers: { [name]: payload } }), payload)
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
