import { readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { readMe } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture({ policies: noRateLimits })

const { org } = seeded
const uuid = new RegExp(uuidPattern)
const nobody = '01890000-0000-7000-8000-000000000000'
const aurora = `/api/v1/orgs/${org.aurora}`

const limit = 256 * 1024
const padded = (length: number) => JSON.stringify({ name: 'Padded' }).padEnd(length)

describe('the correlation id', () => {
  const kinds: [string, (headers: Record<string, string>) => Promise<Answered>][] = [
    ['200', (headers) => live.ask('anna', readMe, { headers })],
    ['400', (headers) => live.call('anna', 'GET', '/api/v1/orgs?limit=x', { headers })],
    ['400 of a malformed address', (headers) => live.call('anna', 'GET', '/api/v1/orgs/%zz', { headers })],
    ['400 of an address too long', (headers) => live.ask('anna', readOrganization, { params: { org_id: 'a'.repeat(300) }, headers })],
    ['401', (headers) => live.ask(null, readMe, { headers })],
    ['403', (headers) => live.ask('anna', updateOrganization, { params: { org_id: org.aurora }, body: { name: 'n' }, headers })],
    ['404', (headers) => live.ask('anna', readOrganization, { params: { org_id: nobody }, headers })],
    ['404 of a route', (headers) => live.call(null, 'GET', '/nowhere', { headers })],
    ['413', (headers) => live.call('alice', 'PATCH', aurora, { raw: padded(limit + 1), headers })],
    ['415', (headers) => live.call('alice', 'PATCH', aurora, { raw: 'x', headers: { ...headers, 'content-type': 'text/plain' } })],
    ['document', (headers) => live.call(null, 'GET', '/openapi.json', { headers })],
    ['docs', (headers) => live.call(null, 'GET', '/docs', { headers })],
    ['health', (headers) => live.call(null, 'GET', '/healthz', { headers })],
  ]
  const both = ({ headers }: Answered) => [headers.get('x-request-id'), headers.get('x-correlation-id')]

  for (const [kind, ask] of kinds)
    test(`AU-03 HO-04 is echoed in both headers of a ${kind}, made where none or no good one came`, async () => {
      const given = 'Az09._:-'.repeat(16)
      const kept = await ask({ 'x-request-id': given })
      expect(both(kept)).toEqual([given, given])
      if (kept.status >= 400) expect(kept.body.correlation_id).toBe(given)
      expect(both(await ask({ 'x-correlation-id': 'alias' }))).toEqual(['alias', 'alias'])
      expect(both(await ask({ 'x-request-id': 'first', 'x-correlation-id': 'second' }))).toEqual(['first', 'first'])
      const seen = new Set<string>()
      for (const malformed of [undefined, '', 'a b', 'a'.repeat(129), 'ä', '<script>', 'a,b', '../x', "a';--"]) {
        const answer = await ask(malformed === undefined ? {} : { 'x-request-id': malformed })
        const [id, alias] = both(answer)
        expect(id).toMatch(uuid)
        expect(alias).toBe(id)
        seen.add(id!)
      }
      expect(seen.size).toBe(9)
    })

  test('AU-03 a malformed first is not rescued by the second', async () => {
    const answer = await live.ask('anna', readMe, { headers: { 'x-request-id': 'a b', 'x-correlation-id': 'good' } })
    expect(both(answer)[0]).toMatch(uuid)
  })

  test.for([
    ['431', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['400', 'nonsense\r\n\r\n'],
    ['400', 'GET /healthz HTTP/1.1\r\nX-Request-Id: a\r\n\r\n'],
  ])('AU-03 HO-04 is in both headers of a %s that never became a request', async ([status, bytes]) => {
    const { text, statuses } = await rawExchange(live.url, [bytes!], { responses: 1 })
    expect(statuses).toEqual([Number(status)])
    const id = /x-request-id: ([\w-]+)/.exec(text)![1]
    expect(text).toContain(`x-correlation-id: ${id}`)
    expect(text).toContain(`"correlation_id":"${id}"`)
  })

  test('AU-03 stands on the record of a change and of a refusal, also where it was made here', async () => {
    for (const headers of [{ 'x-request-id': 'recorded-1' }, { 'x-correlation-id': 'recorded-2' }, { 'x-request-id': 'not good' }]) {
      const changed = await live.ask('alice', updateOrganization, {
        params: { org_id: org.aurora },
        body: { name: 'Aurora' },
        headers: headers as Record<string, string>,
      })
      expect(await live.auditOf(both(changed)[0]!)).toMatchObject([{ action: 'organization.update', result: 'success' }])
    }
    const refused = await live.ask('anna', updateOrganization, {
      params: { org_id: org.aurora },
      body: { name: 'n' },
      headers: { 'x-request-id': 'recorded-3' },
    })
    expect(refused.status).toBe(403)
    expect(await live.auditOf('recorded-3')).toMatchObject([{ action: 'organization.update', result: 'denied' }])
  })

  test('AU-03 stands on the line of the log', async () => {
    const lines: string[] = []
    const broken = await live.replica((parts) => ({
      ...parts,
      logger: { level: 'info', stream: { write: (line: string) => lines.push(line) } } as never,
      identify: async () => {
        throw new Error('broken on purpose')
      },
    }))
    const failed = await live.ask('anna', readMe, { headers: { 'x-request-id': 'logged-1' }, base: broken.url })
    expect(failed).toMatchObject({ status: 500, body: { code: 'internal_error', correlation_id: 'logged-1' } })
    expect(failed.text).not.toContain('on purpose')
    const line = lines.map((each) => JSON.parse(each)).find(({ level }) => level === 50)
    expect(line).toMatchObject({ correlation_id: 'logged-1', code: 'internal_error', err: { message: 'broken on purpose' } })
  })
})

describe('headers of every answer', () => {
  const kinds: [string, () => Promise<Answered>][] = [
    ['an answer', () => live.ask('anna', readMe)],
    ['a refusal', () => live.ask(null, readMe)],
    ['a missing route', () => live.call(null, 'GET', '/nowhere')],
    ['a malformed address', () => live.call(null, 'GET', '/api/v1/orgs/%zz')],
    ['the document', () => live.call(null, 'GET', '/openapi.json')],
    ['the docs', () => live.call(null, 'GET', '/docs')],
    ['a script of the docs', () => live.call(null, 'GET', '/docs/static/swagger-ui.css')],
    ['health', () => live.call(null, 'GET', '/healthz')],
    ['readiness', () => live.call(null, 'GET', '/readyz')],
  ]
  for (const [kind, ask] of kinds)
    test(`HO-04 ${kind} is guarded, and kept only where it is the same for everybody`, async () => {
      const { headers } = await ask()
      // The document and the files of its page are the same for everybody.
      expect(headers.get('cache-control')).toBe(/doc/.test(kind) ? 'public, max-age=300' : 'no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('strict-transport-security')).toMatch(/max-age=\d{7,}/)
      const policy = headers.get('content-security-policy')!
      expect(policy).toMatch(/default-src '(?:none|self)'/)
      expect(policy).toMatch(/frame-ancestors '(?:none|self)'/)
      expect(policy).not.toMatch(/unsafe-inline|unsafe-eval/)
      for (const name of ['server', 'x-powered-by', 'access-control-allow-origin']) expect(headers.get(name)).toBeNull()
    })

  test('HO-04 what never became a request is guarded too', async () => {
    const { text } = await rawExchange(live.url, ['nonsense\r\n\r\n'])
    for (const name of ['cache-control: no-store', 'x-content-type-options: nosniff', 'content-security-policy: ', 'connection: close'])
      expect(text).toContain(name)
  })

  test('HO-04 the docs are a page, which no other window keeps hold of, and the document is OpenAPI 3.1', async () => {
    const { headers } = await live.call(null, 'GET', '/docs')
    expect(headers.get('content-type')).toContain('text/html')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    const policy = headers.get('content-security-policy')!
    for (const each of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'none'"])
      expect(policy).toContain(each)
    expect((await live.call(null, 'GET', '/openapi.json')).body.openapi).toBe('3.1.0')
  })
})
