import { verify } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { isLow } from './es256.ts'
import { createSigner } from './signer.ts'
import { type TransitFault, transitContract } from './testing/transit-contract.ts'
import { createTransit, type TransitSettings } from './transit.ts'

const ring = parseKeyRing(`one:${'k'.repeat(43)}`)
const input = Buffer.from('eyJ0eXAiOiJzYStqd3QifQ.eyJzdWIiOiJ4In0')
const folder = temporaryFolder('transit')

type Engine = Awaited<ReturnType<typeof transitContract>>
const running: Engine[] = []
afterEach(async () => {
  for (const engine of running.splice(0)) await engine.stop()
})

const started = async (alg: 'ES256' | 'EdDSA', where: { mount?: string; key?: string; namespace?: string } = {}) => {
  const engine = await transitContract(alg, where)
  running.push(engine)
  const token_file = join(folder, 'token')
  await writeFile(token_file, `${engine.token}\n`)
  const settings: TransitSettings = {
    url: engine.url,
    token_file,
    mount: where.mount ?? 'transit',
    key: where.key ?? 'gatehouse',
    namespace: where.namespace ?? null,
    timeout_ms: 60_000,
  }
  return { engine, settings, transit: createTransit(settings) }
}

describe.each(['ES256', 'EdDSA'] as const)('%s', (alg) => {
  test('TI-14 makes a version, and signs with the one that it is told, within what the engine documents', async () => {
    const { engine, transit } = await started(alg, { mount: 'platform/signing', key: 'tokens', namespace: 'gpu' })
    const first = await transit.newVersion(alg)
    const second = await transit.newVersion(alg)
    expect([first.version, second.version]).toEqual([2, 3])
    for (const { name, version, key } of [first, second]) {
      const signature = await transit.sign({ name, version }, alg, input)
      expect(signature).toHaveLength(64)
      expect(verify(alg === 'ES256' ? 'sha256' : null, input, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
    }
    expect(engine.undocumented).toEqual([])
  })

  test('TI-14 what the contract does not name is refused, so that the tests would notice it', async () => {
    const { engine } = await started(alg)
    const headers = { 'x-vault-token': engine.token }
    const ask = async (method: string, path: string, body?: object) =>
      (await fetch(`${engine.url}${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })).status
    const path = `/v1/transit/sign/gatehouse${alg === 'ES256' ? '/sha2-256' : ''}`
    const good = { input: 'eA==', key_version: 1 }
    expect(await ask('POST', path, good)).toBe(200)
    expect(await ask('PUT', path, good)).toBe(400)
    expect(await ask('POST', `${path}/`, good)).toBe(400)
    expect(await ask('POST', path, { ...good, payload: 'eA==' })).toBe(400)
    expect(await ask('POST', path, { ...good, input: 'not base64!' })).toBe(400)
    expect(await ask('POST', path, { ...good, key_version: 9 })).toBe(400)
    expect(await ask('GET', '/v1/transit/keys/another')).toBe(400)
    expect((await fetch(`${engine.url}/v1/transit/keys/gatehouse`)).status).toBe(403)
  })
})

test('TI-15 of the two spellings of a signature the lower one is given out, whichever the engine gave', async () => {
  const { transit } = await started('ES256')
  const { name, version, key } = await transit.newVersion('ES256')
  let high = 0
  const noting = {
    ...transit,
    sign: async (...asked: Parameters<typeof transit.sign>) => {
      const signature = await transit.sign(...asked)
      if (!isLow(signature)) high += 1
      return signature
    },
  }
  const sign = createSigner({ ring, transit: noting })
  for (let count = 0; count < 40; count += 1) {
    const signature = await sign({ kid: 'k', alg: 'ES256', custody: { kind: 'transit', name, version, key } }, input)
    expect(isLow(signature)).toBe(true)
    expect(verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true)
  }
  expect(high).toBeGreaterThan(0)
})

describe('a transit engine that fails', () => {
  const faults: readonly TransitFault[] = ['sealed', 'denied', 'silent', 'redirects', 'garbled', 'huge', 'wrong_signature', 'wrong_version']
  test.each(faults)('TI-14 because it is %s signs nothing, and the token is not told', async (fault) => {
    const { engine, settings, transit } = await started('ES256')
    const { name, version, key } = await transit.newVersion('ES256')
    await transit.newVersion('ES256')
    const signing = { kid: 'k', alg: 'ES256', custody: { kind: 'transit', name, version, key } } as const
    const sign = createSigner({ ring, transit })
    expect(await sign(signing, input)).toHaveLength(64)
    engine.breaks(fault)
    // Of one that is silent nothing but the end of the time is to be had.
    const signNow = fault === 'silent' ? createSigner({ ring, transit: createTransit({ ...settings, timeout_ms: 100 }) }) : sign
    const refused = await signNow(signing, input).then(
      () => undefined,
      (error: Error) => error,
    )
    expect(refused).toMatchObject({ code: 'dependency_unavailable' })
    expect(inspect(refused, { depth: 9 })).not.toContain(engine.token)
    engine.breaks(undefined)
    expect(await sign(signing, input)).toHaveLength(64)
  })

  test('TI-14 a token that cannot be read or sent, a stopped engine and a missing one sign nothing', async () => {
    const { engine, settings, transit } = await started('ES256')
    const made = await transit.newVersion('ES256')
    const elsewhere = (changed: Partial<TransitSettings>) => createTransit({ ...settings, ...changed }).sign(made, 'ES256', input)
    const unavailable = { code: 'dependency_unavailable' }
    await expect(elsewhere({ token_file: join(folder, 'absent') })).rejects.toMatchObject(unavailable)
    await writeFile(settings.token_file, 'hvs.CANARY\u0000\nbroken')
    const broken = await elsewhere({}).catch((error: unknown) => error)
    expect(broken).toMatchObject(unavailable)
    expect(inspect(broken, { depth: 9 })).not.toContain('CANARY')
    await writeFile(settings.token_file, 'hvs.another')
    await expect(elsewhere({})).rejects.toMatchObject(unavailable)
    await writeFile(settings.token_file, engine.token)
    await expect(elsewhere({ mount: 'other' })).rejects.toMatchObject(unavailable)
    await expect(elsewhere({ namespace: 'other' })).rejects.toMatchObject(unavailable)
    // No restart: a token that an agent has renewed is read at the next use.
    expect(await elsewhere({})).toHaveLength(64)
    await expect(
      createSigner({ ring, transit: null })({ kid: 'k', alg: 'ES256', custody: { kind: 'transit', ...made } }, input),
    ).rejects.toMatchObject(unavailable)
  })

  test('TI-14 a key of another type than is configured is not taken', async () => {
    const { transit } = await started('EdDSA')
    await expect(transit.newVersion('ES256')).rejects.toMatchObject({ code: 'dependency_unavailable' })
  })
})
