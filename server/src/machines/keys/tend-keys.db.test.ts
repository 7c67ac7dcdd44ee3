import { createPrivateKey, verify } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { unseal } from '#ground/custody/envelope.ts'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { rewrap } from '#ground/installation/rewrap.ts'
import { serverFixture, testKeys } from '../../../../test/live-server.ts'
import { input, ring, signingKeysOn } from '../../../../test/signing-key-scene.ts'
import { envelopeColumns } from '../../rooms.ts'
import { keysNotRewrapped } from './envelopes.ts'
import { boundOf } from './make-key.ts'
import { createSigner } from './signer.ts'
import { liveKeys } from './signing-key-queries.ts'
import { keyTender, tendKeys } from './tend-keys.ts'
import { transitContract } from './testing/transit-contract.ts'
import { createTransit } from './transit.ts'

const live = serverFixture({}, async (live) => {
  // As in an installation that has been there for a while.
  await live.sql(`update policy_values set created_at = created_at - interval '1 year'`)
})
const { age, end, inState, jwks, keySetOf, keys, kidIn, publishedKids, rotate, staged, startAnew, tending } = signingKeysOn(live)

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
    const transit = createTransit({ url: engine.url, token_file, mount: 'transit', key: 'gatehouse', namespace: null, timeout_ms: 60_000 })
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
