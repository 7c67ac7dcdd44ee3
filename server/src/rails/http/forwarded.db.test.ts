import { createProjectConstraint } from '@gatehouse/contract/constraints'
import { listProjectMembers } from '@gatehouse/contract/members'
import { createNode, enrolNode } from '@gatehouse/contract/nodes'
import { readMe } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { doorCaller, nodeKeys, pemOf, readToken } from '../../../../test/enrolled-node.ts'
import { fixture } from '../../../../test/fixture.ts'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { trustedProxies } from './source-address.ts'

const live = serverFixture({ policies: noRateLimits })
const params = { project_id: seeded.project.aurora }

describe('forwarded addresses', () => {
  const rejected: string[] = []
  /** A server that trusts whoever connects to it here, and one that trusts nobody. */
  const servers = fixture(async () => {
    const condition = { within: { source_ip: ['198.51.100.0/24'] } }
    const body = { key: 'outside', actions: ['project.member.read'], condition }
    expect((await live.ask('alice', createProjectConstraint, { params, body })).status).toBe(201)
    const onRejected = (_code: string, address: string) => rejected.push(address)
    const believing = await live.replica({ isTrustedProxy: trustedProxies(['127.0.0.1'])!, onRejected })
    const plain = await live.replica({ onRejected })
    return { believing: believing.url, plain: plain.url }
  })
  const read = async (base: string, headers: Record<string, string>) =>
    (await live.ask('amara', listProjectMembers, { params, headers, base })).status

  test('PR-04 M1 a rule on the address: a trusted proxy names the client → the right-most untrusted address is judged', async () => {
    const by = (forwarded: string) => read(servers.believing, { 'x-forwarded-for': forwarded })
    expect(await by('198.51.100.7')).toBe(403)
    expect(await by('203.0.113.5')).toBe(200)
    // What the client wrote into the header before.
    expect(await by('198.51.100.7, 203.0.113.5')).toBe(200)
    expect(await by('203.0.113.5, 198.51.100.7')).toBe(403)
    expect(await by('203.0.113.5, 198.51.100.7, 127.0.0.1')).toBe(403)
    expect(await by('::ffff:198.51.100.7')).toBe(403)
    for (const garbage of ['unknown', '198.51.100.7, nonsense', 'fe80::1%eth0', ',', '198.51.100.7;', 'x'.repeat(8000)])
      expect([garbage.slice(0, 30), await by(garbage)]).toEqual([garbage.slice(0, 30), 200])
  })

  test('PR-04 M1 any forwarded header: no trusted proxy → changes nothing; headers that nobody appends to → never read', async () => {
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'])
      expect([name, await read(servers.plain, { [name]: name === 'forwarded' ? 'for=198.51.100.7' : '198.51.100.7' })]).toEqual([name, 200])
    for (const [name, value] of [
      ['forwarded', 'for=198.51.100.7'],
      ['x-real-ip', '198.51.100.7'],
    ] as const)
      expect([name, await read(servers.believing, { [name]: value })]).toEqual([name, 200])
  })

  test('PR-04 M1 a header of 64 KiB → 431, and of one name on two lines → read as one list', async () => {
    const bearer = `Authorization: Bearer ${await live.tokenOf('amara')}\r\n`
    const get = (headers: string) =>
      `GET /api/v1/projects/${params.project_id}/members HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${bearer}${headers}\r\n`
    const long = await rawExchange(servers.believing, [get(`X-Forwarded-For: ${'1.1.1.1,'.repeat(8192)}1.1.1.1\r\n`)])
    expect(long.statuses).toEqual([431])
    const two = await rawExchange(servers.believing, [get('X-Forwarded-For: 203.0.113.5\r\nX-Forwarded-For: 198.51.100.7\r\n')])
    expect(two.statuses).toEqual([403])
  })

  test('PR-04 the audit of refused tokens: a trusted proxy names the client → told by that address; otherwise by the connection’s', async () => {
    for (const base of [servers.believing, servers.plain])
      await live.ask(null, readMe, { headers: { authorization: 'Bearer nonsense', 'x-forwarded-for': '198.51.100.9' }, base })
    await expect.poll(() => rejected).toEqual(['198.51.100.9', '127.0.0.1'])
  })
})

test('PR-04 M1 enrolment: a forwarded header at the nodes’ door, from a trusted proxy → not read', async () => {
  const { nodes } = await live.replica({ isTrustedProxy: trustedProxies(['127.0.0.1'])! })
  const made = await live.ask('ada', createNode, { body: { name: 'forwarded', region: 'eu-1', sku: 'h100', gpus: 1 } })
  const { enrolment_token } = made.body
  const door = doorCaller(nodes.url, { ca: pemOf(readToken(enrolment_token).ca) })
  const enrol = async () => {
    const headers = { 'x-forwarded-for': '198.51.100.7' }
    return (await door.ask(enrolNode, { body: { enrolment_token, csr: (await nodeKeys()).csr }, headers })).status
  }
  // The second is refused, and the refusal names the address.
  expect([await enrol(), await enrol()]).toEqual([201, 401])
  door.stop()
  const rows = await live.sql(`select metadata from audit_logs where action = 'node.enrol' and result = 'denied'`)
  expect(rows).toMatchObject([{ metadata: { source_ip: '127.0.0.1', why: 'used' } }])
})

describe('wrong secrets behind a proxy', () => {
  const first_ms = 20
  const sources = fixture(async () => {
    await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', first_ms)
    const believing = await live.replica({ isTrustedProxy: trustedProxies(['127.0.0.1'])! })
    const doubting = await live.replica({ isTrustedProxy: trustedProxies(['192.0.2.1'])! })
    return { believing: believing.url, doubting: doubting.url }
  })
  type Machine = Awaited<ReturnType<typeof machineWithSecret>>
  const guess = async ({ ask }: Machine, base: string, address: string): Promise<number> => {
    const began = performance.now()
    expect((await ask({ client_secret: 'guessed' }, { 'x-forwarded-for': address }, base)).status).toBe(401)
    return performance.now() - began
  }
  /** A delay has a least time and no longest: the machine may be busy. */
  const isSlowed = async (machine: Machine, base: string, addresses: readonly string[]) => {
    for (const [n, address] of addresses.entries()) expect(await guess(machine, base, address)).toBeGreaterThan(first_ms * 2 ** n - 5)
  }

  test('PR-04 M1 token request: two clients behind one trusted proxy → who guesses is slowed, the other is not', async () => {
    const machine = await machineWithSecret(live)
    const { believing } = sources
    // What the guesser writes into the header is not looked at.
    const guesser = Array.from({ length: 5 }, (_, n) => `203.0.113.${n}, 198.51.100.7`)
    await isSlowed(machine, believing, guesser)
    const order: string[] = []
    await Promise.all([
      guess(machine, believing, '198.51.100.7').then(() => order.push('guesser')),
      guess(machine, believing, '203.0.113.5').then(() => order.push('other')),
      machine.ask({}, { 'x-forwarded-for': '203.0.113.5' }, believing).then(({ status }) => order.push(`right: ${status}`)),
    ])
    expect(order.at(-1)).toBe('guesser')
    expect(order.toSorted()).toEqual(['guesser', 'other', 'right: 200'])
    const rows = `select metadata ->> 'source_ip' as source, count(*)::int as n from audit_logs where action = 'auth.token.deny' and metadata ->> 'key_id' = $1 group by 1`
    const told = [
      { source: '198.51.100.7', n: 6 },
      { source: '203.0.113.5', n: 1 },
    ]
    await expect.poll(() => live.sql(`${rows} order by 1`, [machine.key_id])).toEqual(told)
  })

  test('PR-04 M1 token request: a forged header from a peer that is no trusted proxy → the guesser is slowed all the same', async () => {
    const forged = Array.from({ length: 5 }, (_, n) => `198.51.${n}.7`)
    await isSlowed(await machineWithSecret(live), sources.doubting, forged)
  })
})

describe('the query', () => {
  test('HO-10 request with more than 100 query parameters → 400, wherever it is sent; 100 are read', async () => {
    const query = (count: number, name: (n: number) => string) => Array.from({ length: count }, (_, n) => `${name(n)}=1`).join('&')
    for (const path of ['/healthz', '/api/v1/me', '/nowhere', '/openapi.json'])
      for (const name of [(n: number) => `a${n}`, () => 'a']) {
        const refused = await live.call('alice', 'GET', `${path}?${query(101, name)}`)
        expect([path, refused.status, refused.body.details]).toEqual([path, 400, { detail: 'too_many_parameters', limit: 100 }])
      }
    expect((await live.call(null, 'GET', `/healthz?${query(100, (n) => `a${n}`)}`)).status).toBe(200)
  })
})

describe('the Host header', () => {
  test.for([
    ['the same twice', 'Host: x\r\nHost: x\r\n'],
    ['two different ones', 'Host: x\r\nhost: y\r\n'],
    ['two beside others', 'Host: x\r\nAccept: */*\r\nHOST: x\r\n'],
  ])('HO-04 request with %s → 400', async ([, hosts]) => {
    for (const path of ['/healthz', '/api/v1/me', '/nowhere']) {
      const { statuses, text } = await rawExchange(live.url, [`GET ${path} HTTP/1.1\r\nConnection: close\r\n${hosts}\r\n`])
      expect([path, statuses]).toEqual([path, [400]])
      expect(text).toContain('two_hosts')
    }
  })

  test.for([
    ['a list', 'x, y'],
    ['a blank in it', 'x y'],
    ['a user', 'me@x'],
    ['a path', 'x/y'],
    ['a port that is none', 'x:http'],
  ])('HO-04 request whose host is %s → 400', async ([, host]) => {
    for (const path of ['/healthz', '/api/v1/me', '/nowhere']) {
      const { statuses, text } = await rawExchange(live.url, [`GET ${path} HTTP/1.1\r\nConnection: close\r\nHost: ${host}\r\n\r\n`])
      expect([path, statuses]).toEqual([path, [400]])
      expect(text).toContain('malformed_host')
    }
  })

  test.for(['x', 'x:80', '[::1]:8090', '127.0.0.1', '', 'gate-house.example.com:'])(
    'HO-04 request whose host is "%s" → answered',
    async (host) => {
      const { statuses } = await rawExchange(live.url, [`GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: ${host}\r\n\r\n`])
      expect(statuses).toEqual([200])
    },
  )
})
