import { createPrivateKey, verify } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rotateSigningKey as rotateOperation } from '@gatehouse/contract/signing-keys'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { fixture } from '../../../test/fixture.ts'
import { seeded, serverFixture, testKeys } from '../../../test/live-server.ts'
import { appendWith } from '../audit/append.ts'
import { systemProof } from '../authz/authorize.ts'
import { unseal } from '../custody/envelope.ts'
import { parseKeyRing } from '../custody/key-ring.ts'
import { keepFresh } from '../epochs/fresh.ts'
import { answer } from '../http/answer.ts'
import { auditKey } from '../installation/own-secrets.ts'
import { rewrap } from '../installation/rewrap.ts'
import { newId } from '../kernel/ids.ts'
import { envelopeColumns } from '../wiring.ts'
import { keysNotRewrapped } from './envelopes.ts'
import { type KeySet, keySetSource } from './key-set.ts'
import { boundOf } from './make-key.ts'
import { createSigner } from './signer.ts'
import { activateKey, beginGrace, findKey, liveKeys } from './signing-key-queries.ts'
import { keyTender, type Tending, tendKeys } from './tend-keys.ts'
import { transitContract } from './testing/transit-contract.ts'
import { createTransit } from './transit.ts'

const ring = parseKeyRing(testKeys)
const path = '/api/v1/admin/signing-keys'
const reason = { body: { reason: 'because' } }
const { org, project } = seeded

const live = serverFixture({}, async (live) => {
  // As in an installation that has been there for a while.
  await live.sql(`update policy_values set created_at = created_at - interval '1 year'`)
})
const other = fixture(() => live.replica())
const tending = fixture(async (): Promise<Tending> => {
  const append = appendWith({ region: 'test', key: await auditKey(live.database, ring) })
  return { database: live.database, append, ring, transit: null, algorithm: 'ES256' }
})

interface Row {
  kid: string
  alg: string
  state: string
  custody: string
  created_at: Date
  activated_at: Date | null
  grace_until: Date | null
  ended_by: string | null
  end_reason: string | null
}
const keys = (where = 'true') => live.sql<Row>(`select * from signing_keys where ${where} order by created_at desc`)
const inState = (state: string) => keys(`state = '${state}'`)
const kidIn = async (state: string) => (await inState(state))[0]!.kid
/** As if it had been public since yesterday. */
const age = () => live.sql(`update signing_keys set created_at = created_at - interval '1 day' where state = 'staged'`)
const rotate = (url?: string) => live.call('ada', 'POST', `${path}/rotate`, reason, url)
const end = (verb: 'retire' | 'revoke', kid: string, person = 'ada') => live.call(person, 'POST', `${path}/${kid}/${verb}`, reason)
/** Another one is made aside; until then there may be none. */
const staged = async () => {
  await expect.poll(() => inState('staged')).toHaveLength(1)
  return kidIn('staged')
}
const startAnew = async (more: Partial<Tending> = {}) => {
  // A rotation of the test before may still be at its next key: it would make one of its own kind where it finds none.
  await live.tended()
  await live.sql('delete from issued_tokens')
  await live.sql('delete from signing_keys')
  await tendKeys({ ...tending, ...more })
}

const keySetOf = async (of = ring): Promise<KeySet> => {
  const { values } = await keepFresh(live.database)
    .forRequest()
    .read([keySetSource(of)()])
  return values[0]!
}
const jwks = (headers: Record<string, string> = {}, url?: string) => live.call(null, 'GET', '/.well-known/jwks.json', { headers }, url)
const publishedKids = async (url?: string): Promise<string[]> =>
  (await jwks({}, url)).body.keys.map(({ kid }: { kid: string }) => kid).sort()

/** A token's row, as far as keys are concerned. */
const issuedWith = (kid: string, seconds: number) =>
  live.sql(
    `insert into issued_tokens (id, actor_type, actor_id, credential_id, org_id, project_id, typ, kid, audience, scope, epoch, issued_at, expires_at)
     values ($1, 'service_account', $1, $1, $2, $3, 'sa+jwt', $4, 'gpuaas-api', '{}', 1, now(), now() + make_interval(secs => $5))`,
    [newId('token'), org.aurora, project.aurora, kid, seconds],
  )

const input = Buffer.from('eyJhbGciOiJFUzI1NiJ9.e30')

describe('at the first start', () => {
  test('TI-13 there is a key that signs and a next one, however many processes start together', async () => {
    await live.sql('delete from signing_keys')
    await Promise.all(Array.from({ length: 8 }, () => tendKeys(tending)))
    expect((await keys()).map(({ state }) => state).sort()).toEqual(['active', 'staged'])
    await Promise.all(Array.from({ length: 4 }, () => tendKeys(tending)))
    expect(await keys()).toHaveLength(2)
  })

  test('TI-13 a restart finds the keys that there were, and signs with them', async () => {
    const before = await keySetOf()
    const { url } = await live.replica()
    expect(await publishedKids(url)).toEqual((await keys()).map(({ kid }) => kid).sort())
    const after = await keySetOf()
    expect(after.signing!.kid).toBe(before.signing!.kid)
    const signature = await createSigner({ ring, transit: null })(after.signing!, input)
    const { key } = before.verifying.get(after.signing!.kid)!
    expect(verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
  })

  test('TI-13 what is made is recorded as the product’s own doing', async () => {
    const [active, next] = [await kidIn('active'), await kidIn('staged')]
    const rows = await live.sql(
      `select action, actor_type, actor_id, resource_id from audit_logs where resource_id = any($1) order by seq`,
      [[active, next]],
    )
    const by = { actor_type: 'system', actor_id: 'key_tending' }
    expect(rows).toEqual([
      { action: 'signing_key.activate', ...by, resource_id: active },
      { action: 'signing_key.stage', ...by, resource_id: next },
    ])
  })
})

describe('rotation', () => {
  beforeEach(() => startAnew())

  test('TI-13 waits until the next key has been public for as long as others may keep the set', async () => {
    const [next] = await inState('staged')
    const { status, body } = await rotate()
    expect(status).toBe(409)
    // The age that is announced, and ten seconds for what was under way.
    const usable_at = new Date(next!.created_at.getTime() + 310_000).toISOString()
    expect(body).toMatchObject({ code: 'state_conflict', details: { rule: 'next_key_too_new', kid: next!.kid, usable_at } })
    expect(await kidIn('staged')).toBe(next!.kid)
    await live.sql(`update signing_keys set created_at = now() - interval '309 seconds' where state = 'staged'`)
    expect((await rotate()).status).toBe(409)
    await live.sql(`update signing_keys set created_at = now() - interval '310 seconds' where state = 'staged'`)
    expect((await rotate()).status).toBe(200)
  })

  test('TI-13 the former key verifies until its last token has expired, and another next one comes', async () => {
    const [former, next] = [await kidIn('active'), await kidIn('staged')]
    await issuedWith(former, 20_000)
    await issuedWith(former, 60)
    await age()
    const answered = await rotate(other.url)
    expect(answered).toMatchObject({ status: 200, body: { kid: next, state: 'active', alg: 'ES256', custody: 'envelope' } })
    const [last] = await live.sql<{ until: Date }>('select max(expires_at) as until from issued_tokens where kid = $1', [former])
    expect((await inState('grace'))[0]).toMatchObject({ kid: former, grace_until: last!.until })
    const third = await staged()
    expect(await publishedKids()).toEqual([former, next, third].sort())
    const { signing, verifying } = await keySetOf()
    expect(signing!.kid).toBe(next)
    expect([...verifying.keys()].sort()).toEqual([former, next].sort())
    const [row] = await live.auditOf(answered.headers.get('x-correlation-id')!)
    expect(row).toMatchObject({
      action: 'signing_key.rotate',
      severity: 'high',
      resource_id: next,
      metadata: { from_kid: former, grace_until: last!.until.toISOString(), reason: 'because' },
    })
  })

  test('TI-13 a token that is recorded a moment too late is covered as well', async () => {
    const former = await kidIn('active')
    await age()
    await rotate()
    await issuedWith(former, 3500)
    const [late] = await live.sql<{ is_covered: boolean }>(
      'select k.grace_until >= t.expires_at as is_covered from issued_tokens t join signing_keys k using (kid)',
    )
    expect(late).toEqual({ is_covered: true })
  })

  test('TI-13 of twenty at once on two processes one succeeds, and one key is active', async () => {
    const next = await kidIn('staged')
    await age()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => rotate(at % 2 ? other.url : live.url)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good.map(({ body }) => body.kid)).toEqual([next])
    for (const { status, body } of answers.filter((each) => !good.includes(each)))
      expect({ status, code: body.code }).toEqual({ status: 409, code: 'state_conflict' })
    expect(await inState('active')).toHaveLength(1)
    expect(await inState('grace')).toHaveLength(1)
    await staged()
  })

  test('TI-13 is 503 where the age cannot be read: nobody knows how long to wait', async () => {
    await age()
    await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', 'soon')
    expect(await rotate()).toMatchObject({ status: 503, body: { code: 'policy_unavailable' } })
    expect(await jwks()).toMatchObject({ status: 503, body: { code: 'policy_unavailable' } })
    await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', 300)
  })

  /** Somebody who keeps the key set as long as he was told, and does not ask before. */
  const verifierFrom = async () => {
    const known = await publishedKids()
    return async (): Promise<boolean> => known.includes((await keySetOf()).signing!.kid)
  }

  test('TI-13 whoever keeps the set knows every key that signs; a build that activates at once is found out', async () => {
    await live.sql(`delete from signing_keys where state = 'staged'`)
    const knows = await verifierFrom()
    await tendKeys(tending)
    expect((await rotate()).status).toBe(409)
    expect(await knows()).toBe(true)
    const hasty = answer(rotateOperation, async (work) => {
      const rows = await work.tx.many(liveKeys())
      const kid = rows.find(({ state }) => state === 'staged')!.kid
      const proof = systemProof('operator_script', 'platform.admin', {})
      await work.tx.one(beginGrace(proof, rows.find(({ state }) => state === 'active')!.kid, work.now))
      await work.tx.one(activateKey(proof, kid, work.now))
      work.trail.asked.push({ allowed: true, actions: ['platform.admin'] } as never)
      work.trail.events.push({ action: 'signing_key.rotate', resource_type: 'signing_key', resource_id: kid, metadata: {} } as never)
      return work.tx.one(findKey(kid))
    })
    const broken = await live.replica((parts) => ({
      ...parts,
      answers: [...parts.answers.filter(({ operation }) => operation.id !== 'signing_key.rotate'), hasty],
      append: async () => {},
    }))
    expect((await rotate(broken.url)).status).toBe(200)
    expect(await knows()).toBe(false)
  })
})

describe('the end of a key', () => {
  beforeEach(() => startAnew())

  test('TI-13 a key in its grace or waiting is put away, and one that signs is not', async () => {
    const [first, second] = [await kidIn('active'), await kidIn('staged')]
    await age()
    await rotate()
    const third = await staged()
    expect(await end('retire', second)).toMatchObject({ status: 409, body: { details: { state: 'active' } } })
    const { status, body, headers } = await end('retire', first)
    expect({ status, body }).toMatchObject({ status: 200, body: { kid: first, state: 'retired', end_reason: 'because' } })
    expect((await keySetOf()).verifying.has(first)).toBe(false)
    expect((await end('retire', third)).status).toBe(200)
    expect(await staged()).not.toBe(third)
    expect(await publishedKids()).toEqual([second, await kidIn('staged')].sort())
    const [row] = await live.auditOf(headers.get('x-correlation-id')!)
    expect(row).toMatchObject({ action: 'signing_key.retire', severity: 'high', metadata: { from_state: 'grace', reason: 'because' } })
    for (const verb of ['retire', 'revoke'] as const)
      expect(await end(verb, first)).toMatchObject({ status: 409, body: { details: { state: 'retired' } } })
  })

  test('TI-13 a revoked key ends at once on every process, and the next one signs, however new it is', async () => {
    const [first, second] = [await kidIn('active'), await kidIn('staged')]
    const elsewhere = keepFresh(other.database)
    const read = async () => (await elsewhere.forRequest().read([keySetSource(ring)()])).values[0]!
    expect((await read()).signing!.kid).toBe(first)
    const answered = await end('revoke', first)
    expect(answered).toMatchObject({ status: 200, body: { state: 'revoked' } })
    const then = await read()
    expect(then.signing!.kid).toBe(second)
    expect(then.verifying.has(first)).toBe(false)
    expect(await publishedKids(other.url)).not.toContain(first)
    const [row] = await live.auditOf(answered.headers.get('x-correlation-id')!)
    expect(row).toMatchObject({ action: 'signing_key.revoke', severity: 'high', metadata: { from_state: 'active', next_kid: second } })
    await staged()
    expect(await end('revoke', first)).toMatchObject({ status: 409, body: { details: { state: 'revoked' } } })
  })

  test('TI-13 where there is no next one, one is made and signs', async () => {
    await live.sql(`delete from signing_keys where state = 'staged'`)
    const only = await kidIn('active')
    expect((await end('revoke', only)).status).toBe(200)
    await expect.poll(async () => (await keySetOf()).signing?.kid).toMatch(/^[\w-]{43}$/)
    await staged()
    expect((await inState('active'))[0]!.kid).not.toBe(only)
  })

  test('TI-13 a key whose grace is over verifies nothing, is not published, and is put away', async () => {
    const former = await kidIn('active')
    await age()
    await rotate()
    const next = await staged()
    await live.sql(`update signing_keys set grace_until = now() - interval '1 second' where kid = $1`, [former])
    expect(await publishedKids()).toEqual([await kidIn('active'), next].sort())
    expect(Date.parse((await keySetOf()).verifying.get(former)!.grace_until!)).toBeLessThan(Date.now())
    await tendKeys(tending)
    expect((await keys(`kid = '${former}'`))[0]).toMatchObject({ state: 'retired', ended_by: null, end_reason: 'its grace is over' })
  })

  test('TI-13 only the platform’s administrators see and change keys, and nobody sees a private part', async () => {
    const kid = await kidIn('staged')
    for (const person of ['anna', 'otto']) {
      expect((await live.call(person, 'GET', path)).status).toBe(403)
      expect((await live.call(person, 'POST', `${path}/rotate`, reason)).status).toBe(403)
      expect((await end('revoke', kid, person)).status).toBe(403)
      expect((await end('retire', kid, person)).status).toBe(403)
    }
    expect((await end('revoke', 'no-such-key')).body).toMatchObject({ code: 'signing_key_not_found' })
    const { body, text } = await live.call('ada', 'GET', path)
    expect(body.items.map((item: { kid: string }) => item.kid).sort()).toEqual((await keys()).map((row) => row.kid).sort())
    expect(text).not.toMatch(/envelope"?:|nonce|"ct"|"d"/)
    expect(await kidIn('staged')).toBe(kid)
  })
})

describe('the public set', () => {
  test('TI-13 says how long it may be kept, and answers 304 to who has it', async () => {
    await startAnew()
    const first = await jwks()
    expect(first.status).toBe(200)
    expect(first.headers.get('cache-control')).toBe('public, max-age=300')
    expect(first.headers.get('content-type')).toMatch(/^application\/jwk-set\+json/)
    const etag = first.headers.get('etag')!
    for (const condition of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await jwks({ 'if-none-match': condition })
      expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
      expect(again.headers.get('cache-control')).toBe('public, max-age=300')
    }
    expect((await jwks({ 'if-none-match': '"x"' })).status).toBe(200)
    // The same on every process, or caches before several of them would never agree.
    expect((await jwks({}, other.url)).headers.get('etag')).toBe(etag)
    await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', 60)
    expect((await jwks()).headers.get('cache-control')).toBe('public, max-age=60')
    await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', 300)
    await age()
    await rotate()
    await staged()
    expect((await jwks({ 'if-none-match': etag })).status).toBe(200)
  })

  test('TI-13 holds public members only', async () => {
    const { body } = await jwks()
    expect(body.keys.length).toBeGreaterThan(1)
    for (const key of body.keys) expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    expect((await live.call(null, 'GET', '/.well-known/jwks.json?access_token=x')).status).toBe(400)
    expect((await live.call(null, 'POST', '/.well-known/jwks.json')).status).toBe(404)
  })

  test('HO-04 counts against the limit of where the request comes from', async () => {
    // Whatever comes of it, those after it are not limited.
    onTestFinished(async () => void (await live.setPolicy('rate_limit.anonymous_requests_per_minute', 1_000_000)))
    await live.setPolicy('rate_limit.anonymous_requests_per_minute', 1)
    const { url } = await live.replica()
    expect((await jwks({}, url)).status).toBe(200)
    const late = await jwks({}, url)
    expect(late).toMatchObject({ status: 429, body: { code: 'rate_limit_exceeded' } })
    expect(late.headers.get('cache-control')).toBe('no-store')
  })
})

describe('HS256, for a migration', () => {
  test('TI-13 is never in the public set, and is verified with the key-encryption key only', async () => {
    await startAnew({ algorithm: 'HS256' })
    expect((await jwks()).body).toEqual({ keys: [] })
    const { signing, verifying } = await keySetOf()
    expect(signing).toMatchObject({ alg: 'HS256', custody: { kind: 'envelope_key', key_id: 'test' } })
    expect(verifying.get(signing!.kid)!.key.type).toBe('secret')
    expect(verifying.get(signing!.kid)!.key.export()).toEqual(ring.keyOf('test'))
    expect(await createSigner({ ring, transit: null })(signing!, input)).toHaveLength(32)
  })

  test('TI-13 needs no age: nobody fetches it', async () => {
    expect((await rotate()).status).toBe(200)
  })

  test('TI-13 ends with the key-encryption key that it is', async () => {
    const gone = parseKeyRing(`new:${'n'.repeat(42)}A`)
    const { signing, verifying } = await keySetOf(gone)
    expect([signing, verifying.size]).toEqual([undefined, 0])
    const { signing: known } = await keySetOf()
    await expect(createSigner({ ring: gone, transit: null })(known!, input)).rejects.toMatchObject({ code: 'dependency_unavailable' })
  })

  test('TI-13 changing the kind of key replaces the one that waits, and the old kind verifies through its grace', async () => {
    await startAnew({ algorithm: 'HS256' })
    const former = await kidIn('active')
    for (const algorithm of ['EdDSA', 'ES256'] as const) {
      const waiting = await kidIn('staged')
      await tendKeys({ ...tending, algorithm })
      expect((await inState('staged'))[0]).toMatchObject({ alg: algorithm })
      expect((await keys(`kid = '${waiting}'`))[0]).toMatchObject({ state: 'retired', end_reason: 'another kind of key is configured' })
    }
    await age()
    expect((await rotate()).body).toMatchObject({ alg: 'ES256' })
    const { signing, verifying } = await keySetOf()
    expect(signing!.alg).toBe('ES256')
    expect(verifying.get(former)).toMatchObject({ alg: 'HS256', state: 'grace' })
    await staged()
  })
})

test('TI-13 processes that are configured differently replace each other’s next key when they start, and then leave it alone', async () => {
  await startAnew()
  const [one, other] = [keyTender(tending), keyTender({ ...tending, algorithm: 'EdDSA' })]
  expect(await one()).toEqual({ can_sign: true, is_next_of_other_kind: false })
  expect(await other()).toEqual({ can_sign: true, is_next_of_other_kind: false })
  const next = await kidIn('staged')
  expect((await inState('staged'))[0]).toMatchObject({ alg: 'EdDSA' })
  for (let time = 0; time < 3; time += 1) {
    expect(await one()).toEqual({ can_sign: true, is_next_of_other_kind: true })
    expect(await other()).toEqual({ can_sign: true, is_next_of_other_kind: false })
  }
  expect(await kidIn('staged')).toBe(next)
  // Where there is none, whoever comes first makes one.
  await live.sql(`delete from signing_keys where state = 'staged'`)
  expect(await one()).toEqual({ can_sign: true, is_next_of_other_kind: false })
  expect((await inState('staged'))[0]).toMatchObject({ alg: 'ES256' })
})

test('TI-13 a start that failed is still a start the next time', async () => {
  await startAnew()
  let isAway = true
  const transit = {
    newVersion: async () => {
      throw new Error('away')
    },
  } as never
  const changed = {
    ...tending,
    algorithm: 'EdDSA' as const,
    get transit() {
      return isAway ? transit : null
    },
  }
  const tend = keyTender(changed)
  await expect(tend()).rejects.toThrow('away')
  isAway = false
  expect(await tend()).toEqual({ can_sign: true, is_next_of_other_kind: false })
  expect((await inState('staged'))[0]).toMatchObject({ alg: 'EdDSA' })
})

describe('a key-encryption key that signs (HS256) and is to be changed', () => {
  const both = parseKeyRing(`new:${'n'.repeat(42)}A,${testKeys}`)
  const only = parseKeyRing(`new:${'n'.repeat(42)}A`)
  const left = async () => keysNotRewrapped(await live.database.reader.many(liveKeys()), both)

  test('TI-13 TI-14 is told while it signs or is in its grace, and no longer', async () => {
    await startAnew({ algorithm: 'HS256' })
    const former = await kidIn('active')
    expect(await tendKeys({ ...tending, ring: both, algorithm: 'HS256' })).toEqual({ can_sign: true, is_next_of_other_kind: false })
    await rewrap(live.database, both, envelopeColumns, tending.append)
    expect(await left()).toEqual([expect.stringContaining(`The signing key ${former} (HS256, active) is the key-encryption key test.`)])
    await live.sql(`update signing_keys set state = 'grace', grace_until = now() + interval '1 hour' where kid = $1`, [former])
    expect(await left()).toEqual([expect.stringContaining('(HS256, grace)')])
    await live.sql(`update signing_keys set grace_until = now() - interval '1 hour' where kid = $1`, [former])
    await tendKeys({ ...tending, ring: both, algorithm: 'HS256' })
    expect(await left()).toEqual([])
    await rewrap(live.database, parseKeyRing(`${testKeys},new:${'n'.repeat(42)}A`), envelopeColumns, tending.append)
  })

  test('TI-13 taken out too early: the process says that it cannot sign', async () => {
    await startAnew({ algorithm: 'HS256' })
    expect(await tendKeys({ ...tending, ring: only, algorithm: 'HS256' })).toMatchObject({ can_sign: false })
    await startAnew()
    expect(await tendKeys({ ...tending, ring: only })).toMatchObject({ can_sign: false })
    expect(await tendKeys(tending)).toMatchObject({ can_sign: true })
  })
})

test('TI-13 EdDSA signs and verifies as well', async () => {
  await startAnew({ algorithm: 'EdDSA' })
  const { signing, verifying } = await keySetOf()
  const signature = await createSigner({ ring, transit: null })(signing!, input)
  expect(verify(null, input, verifying.get(signing!.kid)!.key, signature)).toBe(true)
  const [jwk] = (await jwks()).body.keys
  expect(Object.keys(jwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})

describe('at rest', () => {
  const privateKeys = async (of = ring) => {
    const rows = await live.sql<{ kid: string; envelope: unknown }>('select kid, envelope from signing_keys where envelope is not null')
    return rows.map(({ kid, envelope }) => JSON.parse(unseal(of, envelope, boundOf(kid)).reveal()) as { d: string })
  }
  /** Every table as text, and where a secret stands in one of them in any of the usual spellings. */
  const tablesShowing = async (secret: string): Promise<string[]> => {
    const bytes = Buffer.from(secret, 'base64url')
    const spellings = [secret, bytes.toString('base64'), bytes.toString('hex'), BigInt(`0x${bytes.toString('hex')}`).toString()]
    const tables = await live.sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
    const showing: string[] = []
    for (const { name } of tables) {
      const [{ text }] = (await live.sql<{ text: string | null }>(`select string_agg(t::text, ' ') as text from ${name} t`)) as [
        { text: string | null },
      ]
      if (spellings.some((spelling) => text?.includes(spelling))) showing.push(name)
    }
    return showing
  }

  test('TI-14 a private key lies in its envelope and nowhere else', async () => {
    await startAnew()
    const found = await privateKeys()
    expect(found).toHaveLength(2)
    for (const { d } of found) expect(await tablesShowing(d)).toEqual([])
    // The search would find it.
    await live.sql(`update signing_keys set end_reason = $1 where state = 'staged'`, [
      Buffer.from(found[0]!.d, 'base64url').toString('hex'),
    ])
    expect(await tablesShowing(found[0]!.d)).toEqual(['signing_keys'])
    await startAnew()
  })

  test('TI-14 an envelope that was moved to another row, or a key that is not there, signs nothing', async () => {
    const { signing } = await keySetOf()
    const next = await kidIn('staged')
    const moved = { ...signing!, kid: next }
    const sign = createSigner({ ring, transit: null })
    await expect(sign(moved, input)).rejects.toMatchObject({ code: 'dependency_unavailable' })
    const stranger = createSigner({ ring: parseKeyRing(`test:${'x'.repeat(43)}`), transit: null })
    await expect(stranger(signing!, input)).rejects.toMatchObject({ code: 'dependency_unavailable' })
    expect(await sign(signing!, input)).toHaveLength(64)
  })

  test('TI-14 sealing anew reaches it, and afterwards the old key-encryption key opens nothing', async () => {
    await startAnew()
    const both = parseKeyRing(`two:${'t'.repeat(42)}A,${testKeys}`)
    const counts = await rewrap(live.database, both, envelopeColumns, tending.append)
    expect(counts['signing_keys.envelope']).toBe(2)
    const { signing, verifying } = await keySetOf()
    const only = parseKeyRing(`two:${'t'.repeat(42)}A`)
    expect(await privateKeys(only)).toHaveLength(2)
    const signature = await createSigner({ ring: only, transit: null })(signing!, input)
    const { key } = verifying.get(signing!.kid)!
    expect(verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
    await expect(createSigner({ ring, transit: null })(signing!, input)).rejects.toMatchObject({ code: 'dependency_unavailable' })
    for (const jwk of await privateKeys(only)) expect(createPrivateKey({ key: jwk as never, format: 'jwk' }).type).toBe('private')
    await rewrap(live.database, parseKeyRing(`${testKeys},two:${'t'.repeat(42)}A`), envelopeColumns, tending.append)
  })
})

describe('with a transit engine', () => {
  test('TI-14 keys are made there, nothing private is here, and tokens are signed there', async () => {
    const engine = await transitContract('ES256')
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-transit-'))
    const token_file = join(folder, 'token')
    await writeFile(token_file, engine.token)
    const transit = createTransit({ url: engine.url, token_file, mount: 'transit', key: 'gatehouse', namespace: null, timeout_ms: 500 })
    try {
      await startAnew({ transit })
      expect((await keys()).map(({ custody }) => custody)).toEqual(['transit', 'transit'])
      expect(await live.sql('select kid from signing_keys where envelope is not null')).toEqual([])
      expect((await jwks()).body.keys).toHaveLength(2)
      const { signing, verifying } = await keySetOf()
      const sign = createSigner({ ring, transit })
      const signature = await sign(signing!, input)
      const { key } = verifying.get(signing!.kid)!
      expect(verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
      expect(engine.undocumented).toEqual([])

      // Sealed: nothing is signed and nothing is made, and what there is stays.
      engine.breaks('sealed')
      await expect(sign(signing!, input)).rejects.toMatchObject({ code: 'dependency_unavailable' })
      await live.sql(`delete from signing_keys where state = 'staged'`)
      await expect(tendKeys({ ...tending, transit })).rejects.toMatchObject({ code: 'dependency_unavailable' })
      expect((await keys()).map(({ state }) => state)).toEqual(['active'])
      engine.breaks(undefined)
      await tendKeys({ ...tending, transit })
      expect(await inState('staged')).toHaveLength(1)
      // And back: the next key is made here again.
      await tendKeys(tending)
      expect((await inState('staged'))[0]).toMatchObject({ custody: 'envelope' })
    } finally {
      await engine.stop()
      await rm(folder, { recursive: true })
    }
  })
})

test('HO-08 a restored backup revives no signing key: what was revoked since it was made signs and verifies nothing', async () => {
  await startAnew()
  const lost = await kidIn('active')
  await end('revoke', lost)
  await staged()
  // As an older backup would have it, accepted: a new epoch has begun.
  await live.sql(`update signing_keys set state = 'retired', ended_at = now() where state in ('active', 'staged')`)
  await live.sql(`update signing_keys set state = 'active', ended_at = null, ended_by = null, end_reason = null where kid = $1`, [lost])
  expect((await keySetOf()).signing?.kid).toBe(lost)
  await live.sql('update installation set epoch = epoch + 1')
  expect(await keySetOf()).toMatchObject({ signing: undefined, published: [] })
  await tendKeys(tending)
  const { signing, verifying } = await keySetOf()
  expect(signing?.kid).not.toBe(lost)
  expect([...verifying.keys()]).toEqual([signing?.kid])
  expect(await keys(`kid = '${lost}'`)).toMatchObject([{ state: 'retired', end_reason: 'made before a restore' }])
})
