import { readMe } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { sentencesWith } from '#desk/audit-trail/sentence.ts'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { serverFixture, testKeys } from '../../../../test/live-server.ts'
import { actorClasses, sentences } from '../../rooms.ts'
import { appendWith } from './append.ts'
import { type AuthRejections, authRejections, sourceOf } from './auth-rejections.ts'
import { platformChain } from './chain.ts'
import { countedAppend } from './counted-append.ts'
import { verifyChains } from './verify-chains.ts'

let rejections: AuthRejections
let key: Awaited<ReturnType<typeof auditKey>>
let appended = 0
const live = serverFixture(
  {
    // Made below, from the server's own database, before the first request.
    parts: { onRejected: (code, address) => rejections.note(code, address) },
    policies: { 'rate_limit.anonymous_requests_per_minute': 10_000 },
  },
  async (live) => {
    key = await auditKey(live.database, parseKeyRing(testKeys))
    const append = countedAppend(appendWith({ region: 'test', key }), (rows) => {
      appended += rows
    })
    rejections = authRejections(live.database, append)
  },
)

const rows = () => live.sql("select * from audit_logs where action = 'auth.token.reject' order by seq")
const stranger = (token?: string) =>
  live.ask(null, readMe, { ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }) })

test('AU-01 refused tokens are counted, and one row for each code says how many', async () => {
  for (let n = 0; n < 7; n += 1) expect((await stranger(`invented-${n}`)).status).toBe(401)
  for (let n = 0; n < 3; n += 1) expect((await stranger()).status).toBe(401)
  expect(await rows()).toEqual([])
  await rejections.flush()
  const written = await rows()
  expect(written).toMatchObject([
    { reason_code: 'token_invalid', metadata: { count: 7, sources: { '127.0.0.0/24': 7 } } },
    { reason_code: 'token_missing', metadata: { count: 3 } },
  ])
  for (const row of written)
    expect(row).toMatchObject({ chain_id: platformChain, tenant_id: null, severity: 'warning', result: 'denied', actor_type: 'system' })
  expect(JSON.stringify(written)).not.toContain('invented')
  expect(sentencesWith(sentences, actorClasses).sentenceOf(written[0] as never)).toBe(
    '7 requests were refused before anybody was known: token_invalid.',
  )
  expect(appended).toBe(2)
  expect((await verifyChains(live.database.reader, key)).faults).toEqual([])
})

test('AU-01 nothing refused, nothing written', async () => {
  const before = await rows()
  await rejections.flush()
  expect((await live.ask('anna', readMe)).status).toBe(200)
  await rejections.flush()
  expect(await rows()).toEqual(before)
})

test('AU-01 what could not be written is counted with what comes after it', async () => {
  const before = (await rows()).length
  for (let n = 0; n < 30; n += 1) rejections.note('token_invalid', `10.0.${n}.1`)
  await live.sql(`create function refuse_audit() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
                  create trigger refuse_audit before insert on audit_logs for each row execute function refuse_audit()`)
  await expect(rejections.flush()).rejects.toThrow()
  await live.sql('drop trigger refuse_audit on audit_logs; drop function refuse_audit')
  rejections.note('token_invalid', '10.0.0.9')
  await rejections.flush()
  const [written, ...more] = (await rows()).slice(before) as { metadata: { count: number; sources: Record<string, number> } }[]
  expect(more).toEqual([])
  expect(written!.metadata.count).toBe(31)
  // However many networks there are, a row names a bounded number of them.
  expect(Object.keys(written!.metadata.sources)).toHaveLength(20)
  expect(written!.metadata.sources['10.0.0.0/24']).toBe(2)
})

test('an address is kept as its network', () => {
  const networks = ['203.0.113.77', '::ffff:203.0.113.77', '2001:db8:5:9::1', '2001:db8::1', '::1'].map(sourceOf)
  expect(networks).toEqual(['203.0.113.0/24', '203.0.113.0/24', '2001:db8:5::/48', '2001:db8::/48', '::/48'])
})
