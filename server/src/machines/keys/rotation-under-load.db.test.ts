import { setTimeout as sleep } from 'node:timers/promises'
import { decide } from '@gatehouse/contract/decisions'
import { retireSigningKey, revokeSigningKey, rotateSigningKey as rotateOperation, rotateSigningKey } from '@gatehouse/contract/signing-keys'
import { importJWK, type JWK, jwtVerify } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { keepFresh } from '#ground/epochs/fresh.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { appendWith } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { answer } from '#rails/http/answer.ts'
import { fixture } from '../../../../test/fixture.ts'
import { noRateLimits, seeded, serverFixture, testKeys, tokenIssuer } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { countedDatabase } from '../../../../test/replicas/counted-database.ts'
import { isWhole } from '../../../../test/sweep.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { activateKey, beginGrace, endKey, findKey, liveKeys, lockKeys } from './signing-key-queries.ts'
import { type Tending, tendKeys } from './tend-keys.ts'

let all: string[]
const ring = parseKeyRing(testKeys)
const { org, project } = seeded
const reason = { body: { reason: 'because' } }
/** As short as it may be, so that a real wait is short too. */
const age_seconds = 1

const live = serverFixture({ policies: { ...noRateLimits, 'auth.iam_token_issuer.jwks_max_age_seconds': age_seconds } }, async (live) => {
  all = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const tending = fixture(async (): Promise<Tending> => {
  const append = appendWith({ region: 'test', key: await auditKey(live.database, ring) })
  return { database: live.database, append, ring, transit: null, algorithm: 'ES256' }
})
const machine = fixture(() => machineWithSecret(live))
beforeEach(() => tendKeys(tending))

const asking = { action: 'allocation.create', resource: { type: 'allocation', tenant_id: org.aurora, project_id: project.aurora } }
const presented = async (token: string, base: string): Promise<number> =>
  (await live.ask(null, decide, { headers: { authorization: `Bearer ${token}` }, body: asking, base })).status

/** Keeps the set for as long as it was told, and does not fetch again for a key that it does not know: nobody may be stricter. */
const outsideVerifier = (base: string) => {
  let kept: { keys: JWK[]; until: number } = { keys: [], until: 0 }
  return async (token: string): Promise<boolean> => {
    if (performance.now() > kept.until) {
      const { status, body, headers } = await live.call(null, 'GET', '/.well-known/jwks.json', {}, base)
      const seconds = /^public, max-age=(\d+)$/.exec(headers.get('cache-control') ?? '')?.[1]
      // A busy machine may answer 503; then what is known has to do.
      if (status === 200) kept = { keys: body.keys, until: performance.now() + Number(seconds) * 1000 }
    }
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())
    const jwk = kept.keys.find((key) => key.kid === kid)
    if (!jwk) return false
    return jwtVerify(token, await importJWK(jwk), { issuer: tokenIssuer.url, audience: tokenIssuer.audience }).then(
      () => true,
      () => false,
    )
  }
}

/** Issues and presents tokens on every process until told to stop; old tokens are presented again and again. */
const underLoad = async (during: () => Promise<void>) => {
  let isOver = false
  const told = { issued: 0, accepted: 0, refused: 0, outside: 0, outside_refused: 0 }
  const kids = new Set<string>()
  const work = async (base: string) => {
    const held: string[] = []
    const isKnownOutside = outsideVerifier(base)
    while (!isOver) {
      const { status, body } = await machine.ask({}, {}, base)
      if (status === 200) {
        held.push(body.access_token)
        kids.add(JSON.parse(Buffer.from(body.access_token.split('.')[0]!, 'base64url').toString()).kid)
        told.issued += 1
      }
      for (const token of [held[0], held[Math.floor(held.length / 2)], held.at(-1)]) {
        if (token === undefined) continue
        for (const other of all) {
          const answered = await presented(token, other)
          if (answered === 200) told.accepted += 1
          if (answered === 401) told.refused += 1
        }
        if (await isKnownOutside(token)) told.outside += 1
        else told.outside_refused += 1
      }
    }
  }
  const working = Promise.all(all.map(work))
  await expect.poll(() => told.issued).toBeGreaterThan(5)
  await during()
  const then = told.issued
  await expect.poll(() => told.issued - then).toBeGreaterThan(5)
  isOver = true
  await working
  return { ...told, kids: kids.size }
}

const rotateSoon = async (base: string) => {
  for (let tries = 0; tries < 60; tries += 1) {
    const { status, body } = await live.ask('ada', rotateSigningKey, { ...reason, base })
    if (status === 200) return
    await sleep(Math.min(1000, Math.max(50, Date.parse(String(body.details?.usable_at)) - Date.now() || 0)))
  }
  throw new Error('the next key never became usable')
}

/** A build that forgets something of a rotation, on one more process. */
const forgetful = async (forgets: 'age' | 'grace') => {
  const rotate = answer(rotateOperation, async (work) => {
    await work.tx.one(lockKeys())
    const platform = await authorize(work, 'platform.admin', platformKind, thePlatform)
    const rows = await work.tx.many(liveKeys())
    const [next, former] = ['staged', 'active'].map((state) => rows.find((row) => row.state === state)!.kid) as [string, string]
    const tomorrow = new Date(Date.parse(work.now) + 86_400_000).toISOString()
    await work.tx.one(
      forgets === 'grace'
        ? endKey(platform, former, { state: 'retired', by: null, reason: 'rotated', now: work.now })
        : beginGrace(platform, former, tomorrow),
    )
    await work.tx.one(activateKey(platform, next, work.now))
    record(work, { action: 'signing_key.rotate', resource_type: 'signing_key', resource_id: next })
    return work.tx.one(findKey(next))
  })
  return live.replica((parts) => ({
    ...parts,
    answers: parts.answers.map((each) => (each.operation.id === 'signing_key.rotate' ? rotate : each)),
  }))
}

describe('under load on three processes', () => {
  test('TI-13 a rotation costs not one verification, here or outside', async () => {
    const told = await underLoad(() => rotateSoon(all[1]!))
    expect(told).toMatchObject({ refused: 0, outside_refused: 0, kids: 2 })
    expect(told.accepted).toBeGreaterThan(50)
    expect(told.outside).toBeGreaterThan(20)
  })

  // Controls belong to `npm run test:all`.
  if (isWhole) {
    test('TI-13 control: a build that forgets the age is noticed outside', async () => {
      const { url } = await forgetful('age')
      await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', 600)
      const told = await underLoad(async () => {
        // One that nobody outside can know yet.
        const [next] = await live.sql<{ kid: string }>(`select kid from signing_keys where state = 'staged'`)
        await live.ask('ada', retireSigningKey, { params: { kid: next!.kid }, ...reason })
        await expect.poll(() => live.sql(`select kid from signing_keys where state = 'staged'`)).toHaveLength(1)
        expect((await live.ask('ada', rotateSigningKey, { ...reason, base: url })).status).toBe(200)
      })
      await live.setPolicy('auth.iam_token_issuer.jwks_max_age_seconds', age_seconds)
      expect(told.refused).toBe(0)
      expect(told.outside_refused).toBeGreaterThan(0)
    })

    test('TI-13 control: a build that forgets the grace is noticed here', async () => {
      const { url } = await forgetful('grace')
      const told = await underLoad(async () => {
        expect((await live.ask('ada', rotateSigningKey, { ...reason, base: url })).status).toBe(200)
      })
      expect(told.refused).toBeGreaterThan(0)
    })
  }

  test('TI-13 after a key was revoked, not one token that it signed is accepted by anybody, and the next one signs', async () => {
    const before: string[] = []
    for (const base of all) before.push((await machine.ask({}, {}, base)).body.access_token)
    const { kid } = JSON.parse(Buffer.from(before[0]!.split('.')[0]!, 'base64url').toString())
    let isRevoked = false
    let isOver = false
    const accepted = { before: 0, after: 0 }
    const asked = { before: 0, after: 0 }
    const knock = async (base: string, token: string) => {
      while (!isOver) {
        const began = isRevoked ? 'after' : 'before'
        if ((await presented(token, base)) === 200) accepted[began] += 1
        asked[began] += 1
      }
    }
    const knocking = Promise.all(all.flatMap((base) => before.map((token) => knock(base, token))))
    await expect.poll(() => accepted.before).toBeGreaterThan(10)
    expect((await live.ask('ada', revokeSigningKey, { params: { kid }, ...reason, base: all[2] })).status).toBe(200)
    isRevoked = true
    await expect.poll(() => asked.after).toBeGreaterThan(20)
    isOver = true
    await knocking
    expect(accepted.after).toBe(0)
    for (const base of all) for (const token of before) expect(await presented(token, base)).toBe(401)
    const { body } = await machine.ask()
    for (const base of all) expect(await presented(body.access_token, base)).toBe(200)
  })
})

const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
const everywhere = (token: string) => Promise.all(all.map((base) => presented(token, base)))

test('TI-13 a token passes until its key is put away, and then nowhere', async () => {
  const { body } = await machine.ask()
  const token: string = body.access_token
  expect(await everywhere(token)).toEqual([200, 200, 200])
  await live.sql(`update signing_keys set created_at = created_at - interval '1 day' where state = 'staged'`)
  expect((await live.ask('ada', rotateSigningKey, { ...reason })).status).toBe(200)
  expect(await everywhere(token)).toEqual([200, 200, 200])
  expect(kidOf((await machine.ask()).body.access_token)).not.toBe(kidOf(token))
  expect((await live.ask('ada', retireSigningKey, { params: { kid: kidOf(token) }, ...reason, base: all[1] })).status).toBe(200)
  expect(await everywhere(token)).toEqual([401, 401, 401])
})

test('TI-13 a storm of keys that nobody knows reads no key, and good tokens pass through it', async () => {
  const counted = countedDatabase(live.database)
  const { url } = await live.replica((parts) => ({ ...parts, fresh: keepFresh(counted.database, unhurried.fresh) }))
  const { access_token } = (await machine.ask()).body
  expect(await presented(access_token, url)).toBe(200)
  const [, payload, signature] = access_token.split('.')
  const unknown = (at: number) => {
    const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `unknown-key-${at}`, typ: 'sa+jwt' })).toString('base64url')
    return `${header}.${payload}.${signature}`
  }
  counted.forget()
  const storm = Promise.all(Array.from({ length: 200 }, (_, at) => presented(unknown(at), url)))
  const good = Promise.all(Array.from({ length: 10 }, () => presented(access_token, url)))
  expect(new Set(await storm)).toEqual(new Set([401]))
  expect(new Set(await good)).toEqual(new Set([200]))
  expect(counted.naming('signing_keys')).toBe(0)
})
