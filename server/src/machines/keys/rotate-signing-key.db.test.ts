import { listSigningKeys, rotateSigningKey as rotateOperation, rotateSigningKey } from '@gatehouse/contract/signing-keys'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { keepFresh } from '#ground/epochs/fresh.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { answer } from '#rails/http/answer.ts'
import { fixture } from '../../../../test/fixture.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { reason, ring, signingKeysOn } from '../../../../test/signing-key-scene.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { keySetSource } from './key-set.ts'
import { activateKey, beginGrace, findKey, liveKeys } from './signing-key-queries.ts'
import { tendKeys } from './tend-keys.ts'

const live = serverFixture({}, async (live) => {
  // As in an installation that has been there for a while.
  await live.sql(`update policy_values set created_at = created_at - interval '1 year'`)
})
const { age, end, inState, issuedWith, jwks, keySetOf, keys, kidIn, publishedKids, rotate, staged, startAnew, tending } =
  signingKeysOn(live)

const other = fixture(() => live.replica())

describe('rotation', () => {
  beforeEach(() => startAnew())

  test('TI-13 waits until the next key has been public for as long as others may keep the set', async () => {
    const [next] = await inState('staged')
    const { status, body } = await rotate()
    expect(status).toBe(409)
    // The age that is announced, and ten seconds for what was under way.
    const usable_at = new Date(next!.created_at.getTime() + 310_000).toISOString()
    expect(body).toMatchObject({ code: 'state_conflict', details: { detail: 'next_key_too_new', kid: next!.kid, usable_at } })
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
    const elsewhere = keepFresh(other.database, unhurried.fresh)
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
      expect((await live.ask(person, listSigningKeys)).status).toBe(403)
      expect((await live.ask(person, rotateSigningKey, { ...reason })).status).toBe(403)
      expect((await end('revoke', kid, person)).status).toBe(403)
      expect((await end('retire', kid, person)).status).toBe(403)
    }
    expect((await end('revoke', 'no-such-key')).body).toMatchObject({ code: 'signing_key_not_found' })
    const { body, text } = await live.ask('ada', listSigningKeys)
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
    expect((await live.call(null, 'POST', '/.well-known/jwks.json')).status).toBe(405)
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
