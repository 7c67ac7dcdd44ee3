import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { FreshReader } from '@gatehouse/server/ground/epochs/fresh'
import type { KeySet } from '@gatehouse/server/machines/keys/key-set'
import { identifyMachine } from '@gatehouse/server/machines/tokens/identify-machine'
import type { TokenRecord } from '@gatehouse/server/machines/tokens/lineage'
import { verifyToken } from '@gatehouse/server/machines/tokens/verify-token'
import { type Findings, median, table } from '../decide/measure.ts'
import type { World } from '../decide/world.ts'
import { issuances } from './requests.ts'
import { type Servers, scope, sendRaw } from './servers.ts'

/** As many under way at once as the load has connections. */
const lanes = 64
const seconds = 3
const rounds = 3

const processorTime = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** By the clock, and in processor time of all threads together: what one does on its own thread another hands to a pool. */
const rateOf = async (check: (index: number) => unknown) => {
  const run = async (ms: number) => {
    const began = performance.now()
    const cpu = processorTime()
    let next = 0
    const lane = async () => {
      while (performance.now() - began < ms) await check(next++)
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return { per_second: (next / (performance.now() - began)) * 1000, cpu_us: (processorTime() - cpu) / next }
  }
  await run(seconds * 100)
  return run(seconds * 1000)
}

interface Published {
  readonly keys: readonly (JsonWebKey & { kid: string; alg: 'ES256' })[]
}

/** The key set as a server has it, from what everybody can fetch. */
const keysFrom = async (port: number): Promise<KeySet> => {
  const { keys } = (await (await fetch(`http://127.0.0.1:${port}/.well-known/jwks.json`)).json()) as Published
  return {
    signing: undefined,
    published: [],
    installation_epoch: 1,
    verifying: new Map(
      keys.map((jwk) => [
        jwk.kid,
        { kid: jwk.kid, alg: jwk.alg, key: createPublicKey({ key: jwk, format: 'jwk' }), state: 'active', grace_until: null },
      ]),
    ),
  }
}

const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString('utf8'))
const headerIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString('utf8'))

/** The record that a token has, as the database would say it. */
const recordOf = (token: string): TokenRecord => {
  const { jti, sub, actor_type, aud, scope: granted, org_id, project_id, iat, exp } = claimsIn(token)
  return {
    id: jti,
    actor_type,
    actor_id: sub,
    org_id,
    project_id,
    typ: headerIn(token).typ,
    kid: headerIn(token).kid,
    audience: aud,
    scope: granted.split(' '),
    cnf_jkt: null,
    parent_id: null,
    act: null,
    lineage: null,
    epoch: 1,
    issued_at: new Date(iat * 1000).toISOString(),
    expires_at: new Date(exp * 1000).toISOString(),
    revoked_at: null,
    is_cut_off: false,
    actor_state: 'active',
    has_credential: true,
    credential_revoked_at: null,
    credential_expires_at: null,
    organization_state: 'active',
    project_state: 'active',
  } as TokenRecord
}

/** What it costs to see that a token is ours, with nothing to wait for. */
export const compareVerification = async (_world: World, { accounts, ports }: Servers): Promise<Findings> => {
  const requests = issuances(accounts, scope)
  const tokens = await Promise.all(requests.map(async (request) => (await sendRaw(ports.ours, request)).access_token as string))
  const tokenAt = (index: number) => tokens[index % tokens.length]!
  const keys = await keysFrom(ports.ours)
  const { iss, aud } = claimsIn(tokens[0]!)
  const { typ, kid } = headerIn(tokens[0]!)
  const accepted = { issuer: iss, audience: aud }
  const now = new Date().toISOString()

  const { jwtVerify, importJWK } = await import('jose')
  const jose_key = await importJWK(keys.verifying.get(kid)!.key.export({ format: 'jwk' }), 'ES256')
  const by_jose = (index: number) => jwtVerify(tokenAt(index), jose_key, { ...accepted, algorithms: ['ES256'], typ })

  const records = new Map(tokens.map((token) => [claimsIn(token).jti, recordOf(token)]))
  const fresh: FreshReader = {
    limit_ms: 1000,
    read: async (wanted) => ({
      moment: { now, epochs: new Map() },
      values: wanted.map(({ source, key }) => (source.name === 'issued token' ? records.get((key as { jti: string }).jti) : keys)) as never,
    }),
  }
  const identify = identifyMachine(
    () => ({ source: { name: 'keys' } }) as never,
    accepted,
    async () => async () => {},
  )
  const nothing = async () => {}
  const shown = (token: string) => ({ scheme: 'Bearer', token, proof: undefined, method: 'GET', path: '/' }) as const

  // Each refuses the same token when a letter of it is changed.
  const bent = `${tokens[0]!.slice(0, -6)}${tokens[0]!.at(-6) === 'A' ? 'B' : 'A'}${tokens[0]!.slice(-5)}`
  const refusals = await Promise.allSettled([
    jwtVerify(bent, jose_key),
    (async () => verifyToken(bent, keys, accepted, now))(),
    identify(shown(bent), fresh, nothing),
  ])
  if (refusals.some(({ status }) => status === 'fulfilled')) throw new Error('a token that was changed was taken')

  const contestants = {
    'gatehouse, first sight': (index: number) => verifyToken(tokenAt(index), keys, accepted, now),
    'gatehouse, seen before, held against its record': (index: number) => identify(shown(tokenAt(index)), fresh, nothing),
    'jose jwtVerify': by_jose,
  }
  const measured = Object.fromEntries(Object.keys(contestants).map((name) => [name, [] as Awaited<ReturnType<typeof rateOf>>[]]))
  for (let round = 0; round < rounds; round += 1)
    for (const [name, check] of Object.entries(contestants)) measured[name]!.push(await rateOf(check))
  const figures = Object.fromEntries(
    Object.entries(measured).map(([name, all]) => [
      name,
      { per_second: median(all.map(({ per_second }) => per_second)), cpu_us: median(all.map(({ cpu_us }) => cpu_us)) },
    ]),
  )
  const jose = figures['jose jwtVerify']!
  const seen = figures['gatehouse, seen before, held against its record']!
  return {
    summary: `seen before ${(seen.per_second / jose.per_second).toFixed(1)}× jose; first sight ${(figures['gatehouse, first sight']!.per_second / jose.per_second).toFixed(2)}×`,
    figures: table(
      ['local', 'per second', 'of jose', 'CPU µs'],
      Object.entries(figures).map(([name, { per_second, cpu_us }]) => [
        name,
        per_second.toFixed(0),
        `${(per_second / jose.per_second).toFixed(2)}×`,
        cpu_us.toFixed(1),
      ]),
    ),
    promises: [
      {
        what: 'a token seen before is checked ten times as fast as with jose',
        is_kept: seen.per_second >= 10 * jose.per_second,
      },
    ],
  }
}
