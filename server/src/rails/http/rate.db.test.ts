import { readProject } from '@gatehouse/contract/projects'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import { readMe } from '@gatehouse/contract/users'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { signText } from '#people/principals/oidc/testing/local-issuer.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'

/** Counts are kept by the process, so each test asks a process of its own. */
let url = ''
// A caller's minute does not pass, however long the requests take.
beforeAll(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterAll(() => void vi.useRealTimers())
const live = serverFixture()

const people = 'rate_limit.api_requests_per_minute'
const strangers = 'rate_limit.anonymous_requests_per_minute'
beforeEach(async () => {
  await live.setPolicy(people, 600)
  await live.setPolicy(strangers, 1200)
  url = (await live.replica()).url
})

const me = (person: string | null, headers: Record<string, string> = {}) => live.ask(person, readMe, { headers, base: url })
const statuses = async (times: number, person: string | null, headers?: Record<string, string>) => {
  const seen = []
  for (let time = 0; time < times; time += 1) seen.push((await me(person, headers)).status)
  return seen
}

describe('rate limits', () => {
  test('HO-04 come from policy: the limit is reached exactly, and Retry-After says when to come again', async () => {
    await live.setPolicy(people, 5)
    expect(await statuses(7, 'anna')).toEqual([200, 200, 200, 200, 200, 429, 429])
    const refused = await me('anna', { 'x-request-id': 'too-often' })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limit_exceeded', correlation_id: 'too-often' } })
    const seconds = Number(refused.headers.get('retry-after'))
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true)
    expect(refused.headers.get('cache-control')).toBe('no-store')
  })

  test('HO-04 a changed value counts from the next request on, up and down', async () => {
    await live.setPolicy(people, 3)
    expect(await statuses(4, 'anna')).toEqual([200, 200, 200, 429])
    await live.setPolicy(people, 1000)
    expect((await me('anna')).status).toBe(200)
    await live.setPolicy(people, 2)
    expect((await me('anna')).status).toBe(429)
  })

  test('HO-04 one person does not use up what another has, nor what strangers have', async () => {
    await live.setPolicy(people, 2)
    await live.setPolicy(strangers, 2)
    expect(await statuses(3, 'anna')).toEqual([200, 200, 429])
    expect(await statuses(3, 'alice')).toEqual([200, 200, 429])
    expect(await statuses(3, null)).toEqual([401, 401, 429])
    expect((await me('adam')).status).toBe(200)
  })

  test('HO-04 strangers are limited by address, whatever token they invent and whatever address they claim', async () => {
    await live.setPolicy(strangers, 3)
    const invented = (n: number) => ({
      authorization: `Bearer invented-${n}`,
      'x-forwarded-for': `10.0.0.${n}`,
      forwarded: `for=10.0.0.${n}`,
    })
    const seen = []
    for (let n = 0; n < 5; n += 1) seen.push((await me(null, invented(n))).status)
    expect(seen).toEqual([401, 401, 401, 429, 429])
    expect((await me('anna')).status).toBe(200)
  })

  test('HO-04 who guesses secrets takes from nobody at that address the keys that verify tokens; documents have the same limit apart', async () => {
    await live.setPolicy(strangers, 2)
    const keys = () => live.call(null, 'GET', '/.well-known/jwks.json', {}, url)
    const body = { service_account_id: seeded.org.aurora, key_id: seeded.org.aurora, client_secret: 'guessed' }
    const guess = () => live.ask(null, issueServiceAccountToken, { body, base: url })
    expect(await statuses(3, null)).toEqual([401, 401, 429])
    expect((await guess()).status).toBe(429)
    expect((await keys()).status).toBe(200)
    expect((await live.call(null, 'GET', '/.well-known/oauth-authorization-server', {}, url)).status).toBe(200)
    expect((await keys()).status).toBe(429)
  })

  const token = '/api/v1/auth/service-account/token'
  const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' }

  test.for([
    ['no JSON', token, { raw: '{' }],
    ['not what is asked for', token, { raw: '{"x":1}' }],
    ['too large', token, { raw: `{"scope":"${'a'.repeat(20_000)}"}` }],
    ['a form that has no grant', '/oauth2/token', { raw: 'a=b', headers: formHeaders }],
    ['a form that is none', '/oauth2/introspect', { raw: '%', headers: formHeaders }],
    ['of another type', token, { raw: 'a=b', headers: { 'content-type': 'text/plain' } }],
  ] as const)('HO-04 a request that should say itself who asks, and is %s, counts against its address', async ([, path, sending]) => {
    await live.setPolicy(strangers, 2)
    const send = () => live.call(null, 'POST', path, sending, url)
    const seen = [(await send()).status, (await send()).status, (await send()).status]
    expect(seen.slice(0, 2).every((status) => status >= 400 && status < 429)).toBe(true)
    expect(seen[2]).toBe(429)
  })

  test('HO-04 past the limit of an address large bodies are not read, and a right secret still gets in', async () => {
    await live.setPolicy(strangers, 2)
    const machine = await machineWithSecret(live)
    expect(await statuses(2, null)).toEqual([401, 401])
    const large = `{"x":"${'y'.repeat(5000)}"`
    const refused = await live.call(null, 'POST', token, { raw: large }, url)
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limit_exceeded' } })
    const before = await live.call(null, 'POST', '/oauth2/token', { raw: large.replaceAll('"', ''), headers: formHeaders }, url)
    expect(before.status).toBe(429)
    expect((await machine.ask({}, {}, url)).status).toBe(200)
    // One that does not say how large it is may be large.
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(machine.credential)))
        controller.close()
      },
    })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(url + token, { method: 'POST', body: stream, headers, duplex: 'half' } as RequestInit)).status).toBe(429)
    await live.setPolicy(strangers, 100)
    expect((await live.call(null, 'POST', token, { raw: large }, url)).status).toBe(400)
  })

  test('HO-10 M4 a stranger’s body: its KiB count as requests, and a larger one than 16 KiB is not read', async () => {
    await live.setPolicy(strangers, 20)
    const send = (bytes: number, path: string = token) => live.call(null, 'POST', path, { raw: `{"x":"${'y'.repeat(bytes)}"` }, url)
    // One that is not read counts for one.
    expect((await send(16 * 1024)).body.code).toBe('body_too_large')
    const seen = []
    for (let turn = 0; turn < 4; turn += 1) seen.push((await send(6 * 1024)).status)
    // 1, then 7 each.
    expect(seen).toEqual([400, 400, 429, 429])
    expect((await me('anna')).status).toBe(200)
  })

  test('HO-10 M4 a stranger’s body that takes long to read: its milliseconds count as requests', async () => {
    await live.setPolicy(strangers, 20)
    const slow = await live.replica({
      parseJson: () => {
        const began = process.threadCpuUsage()
        for (;;) {
          const { user, system } = process.threadCpuUsage(began)
          if (user + system > 15_000) return {}
        }
      },
    })
    const send = () => live.call(null, 'POST', token, { raw: '{}' }, slow.url)
    expect([(await send()).status, (await send()).status]).toEqual([400, 429])
  })

  test('HO-10 a body that is sent to no operation → 404, and it is not parsed', async () => {
    let parsed = 0
    const counting = await live.replica({
      parseJson: () => {
        parsed += 1
        return {}
      },
    })
    expect((await live.call(null, 'POST', '/api/v1/nowhere', { raw: '{"a":' }, counting.url)).status).toBe(404)
    expect(parsed).toBe(0)
    await live.call(null, 'POST', token, { raw: '{"a":' }, counting.url)
    expect(parsed).toBe(1)
  })

  test('HO-10 M1 strangers of one IPv6 /64 behind a trusted proxy → one limit; of another → another', async () => {
    await live.setPolicy(strangers, 2)
    const proxied = await live.replica({ isTrustedProxy: (address) => address === '127.0.0.1' })
    const from = async (address: string) =>
      (await live.ask(null, readMe, { headers: { 'x-forwarded-for': address }, base: proxied.url })).status
    expect([await from('2001:db8::1'), await from('2001:db8::ffff:2'), await from('2001:db8:0:0:1::3')]).toEqual([401, 401, 429])
    expect([await from('2001:db8:0:1::1'), await from('198.51.100.1'), await from('198.51.100.2')]).toEqual([401, 401, 401])
    // The client's own entry does not make them somebody else.
    expect(await from('198.51.100.77, 2001:db8::9')).toBe(429)
  })

  test('HO-04 whoever has got hold of a token uses up what it has, and the right secret still gets the next one, up to the same limit', async () => {
    const [machine, another] = [await machineWithSecret(live), await machineWithSecret(live)]
    const { body } = await machine.ask({}, {}, url)
    await live.setPolicy('rate_limit.machine_requests_per_minute', 3)
    const authorization = `Bearer ${body.access_token}`
    const use = () => live.ask(null, readProject, { params: { project_id: seeded.project.aurora }, headers: { authorization }, base: url })
    // Who has only a token and says that he is its client is counted with its other uses.
    const revoke = () => live.call(null, 'POST', '/oauth2/revoke', { raw: 'token=x', headers: { ...formHeaders, authorization } }, url)
    try {
      const used = [await use(), await use(), await revoke(), await use(), await revoke()]
      expect(used.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
      const asked = [await machine.ask({}, {}, url), await machine.ask({}, {}, url), await machine.ask({}, {}, url)]
      expect(asked.map(({ status }) => status)).toEqual([200, 200, 429])
      expect((await another.ask({}, {}, url)).status).toBe(200)
    } finally {
      await live.setPolicy('rate_limit.machine_requests_per_minute', 6000)
    }
  })

  test('HO-04 the limit is refused before the body is read and leaves no record', async () => {
    await live.setPolicy(people, 1)
    expect((await me('anna')).status).toBe(200)
    const sending = { raw: '{"a":1,"a":2}', headers: { 'x-request-id': 'unread' } }
    expect((await live.call('anna', 'POST', '/api/v1/orgs', sending, url)).status).toBe(429)
    expect(await live.auditOf('unread')).toEqual([])
  })

  test('HO-04 who is past his limit changes nothing by what his provider says of him', async () => {
    const now = Math.floor(Date.now() / 1000)
    const said = async (email: string, seconds_ago: number) => {
      const claims = live.issuer.claims(now - seconds_ago, { sub: 'rate-moved', email, email_verified: true })
      return { authorization: `Bearer ${await signText(live.issuer.key, JSON.stringify(claims))}` }
    }
    const [one, other] = [await said('one@moved.example', 90), await said('other@moved.example', 60)]
    const later = await said('later@moved.example', 30)
    expect((await me(null, one)).status).toBe(200)
    await live.setPolicy(people, 2)
    const seen = []
    for (let turn = 0; turn < 3; turn += 1) seen.push((await me(null, other)).status, (await me(null, later)).status)
    expect(seen).toEqual([200, 429, 429, 429, 429, 429])
    expect(await live.sql("select email from users where oidc_subject = 'rate-moved'")).toEqual([{ email: 'other@moved.example' }])
    expect(await live.sql("select count(*)::int as rows from audit_logs where action = 'user.address'")).toEqual([{ rows: 1 }])
  })

  test.for([
    ['a text', '"many"'],
    ['a fraction', '1.5'],
    ['zero', '0'],
    ['beyond its bounds', '10000001'],
    ['null', 'null'],
    ['a list', '[600]'],
    ['a number as text', '"600"'],
  ])('HO-04 a value that is %s refuses with policy_unavailable and is not replaced by a guess', async ([, text]) => {
    await live.setPolicy(people, JSON.parse(text!))
    const refused = await me('anna')
    expect(refused).toMatchObject({ status: 503, body: { code: 'policy_unavailable' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.text).not.toContain('rate_limit')
    expect((await me(null)).status).toBe(401)
  })

  test('HO-04 a missing value refuses with policy_unavailable, and its return is noticed at once', async () => {
    await live.sql('update policy_values set replaced_at = now() where key = $1', [people])
    expect(await me('anna')).toMatchObject({ status: 503, body: { code: 'policy_unavailable' } })
    await live.sql('update policy_values set replaced_at = null where key = $1', [people])
    expect((await me('anna')).status).toBe(200)
    await live.sql('update policy_values set replaced_at = now() where key = $1', [strangers])
    expect(await me(null)).toMatchObject({ status: 503, body: { code: 'policy_unavailable' } })
    expect((await me('anna')).status).toBe(200)
    await live.sql('update policy_values set replaced_at = null where key = $1', [strangers])
  })
})
