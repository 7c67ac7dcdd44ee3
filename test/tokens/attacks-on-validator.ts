import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { lowOf } from '../../server/src/machines/keys/es256.ts'
import { seeded } from '../live-server.ts'
import { type Attack, during, type Ground, home, notRefused, shown, somebody, type Victim, victimOn } from './ground.ts'

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const headerIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())

/** A token that was issued and recorded, with another header and another's signature. */
const reheaded = (token: string, header: object, makes: (signed: Buffer) => Buffer): string => {
  const signed = `${encoded({ ...headerIn(token), ...header })}.${token.split('.')[1]}`
  return `${signed}.${makes(Buffer.from(signed)).toString('base64url')}`
}

const publishedKey = async ({ live }: Ground): Promise<KeyObject> => {
  const [row] = await live.sql<{ public_jwk: Record<string, string> }>(`select public_jwk from signing_keys where state = 'active'`)
  return createPublicKey({ key: row!.public_jwk, format: 'jwk' })
}

const keyConfusion: Attack = async (ground) => {
  const { rightful } = await victimOn(ground)
  const key = await publishedKey(ground)
  const jwk = key.export({ format: 'jwk' })
  const pem = key.export({ format: 'pem', type: 'spki' }) as string
  const secrets = {
    JWK: Buffer.from(JSON.stringify(jwk)),
    PEM: Buffer.from(pem),
    'PEM without a newline': Buffer.from(pem.trimEnd()),
    DER: key.export({ format: 'der', type: 'spki' }),
    'raw x': Buffer.from(jwk.x!, 'base64url'),
  }
  const tokens: Record<string, string> = {}
  for (const [spelling, secret] of Object.entries(secrets))
    for (const bits of ['256', '384', '512'])
      tokens[`HS${bits} with our public key as ${spelling}`] = reheaded(rightful.token, { alg: `HS${bits}` }, (signed) =>
        createHmac(`sha${bits}`, secret).update(signed).digest(),
      )
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const edwards = generateKeyPairSync('ed25519').privateKey
  for (const alg of ['RS256', 'PS256', 'ES256', 'ES384'])
    tokens[`${alg} with a key of RSA`] = reheaded(rightful.token, { alg }, (signed) => sign('sha256', signed, rsa))
  for (const alg of ['EdDSA', 'ES256'])
    tokens[`${alg} with another key`] = reheaded(rightful.token, { alg }, (signed) => sign(null, signed, edwards))
  return notRefused(ground, tokens)
}

const broughtKeys: Attack = async (ground) => {
  const { rightful } = await victimOn(ground)
  const thief = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...thief.publicKey.export({ format: 'jwk' }), kid: rightful.kid, alg: 'ES256' }
  let connections = 0
  const listener = createServer((_request, response) => void response.end(JSON.stringify({ keys: [jwk] })))
  listener.on('connection', () => {
    connections += 1
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  try {
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/keys`
    const x5c = [thief.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')]
    const byThief = (signed: Buffer) => lowOf(sign('sha256', signed, { key: thief.privateKey, dsaEncoding: 'ieee-p1363' }))
    const headers = { jwk: { jwk }, jku: { jku: url }, x5u: { x5u: url }, x5c: { x5c }, kid: { kid: url } }
    const tokens = Object.entries(headers).map(([name, header]) => [`a key by ${name}`, reheaded(rightful.token, header, byThief)])
    const found = await notRefused(ground, Object.fromEntries(tokens))
    // What is fetched aside needs a moment to come.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return connections === 0 ? found : [...found, `${connections} connections were made to fetch a key`]
  } finally {
    listener.close()
    listener.closeAllConnections()
  }
}

type Claim = keyof Victim['rightful']['claims']

/** One claim that is not there, is of another kind, or says something else than the record; signed all the same. */
const badClaim =
  (claim: Claim): Attack =>
  async (ground) => {
    const { rightful, mint } = await victimOn(ground)
    const good = rightful.claims[claim]
    const ofItsKind =
      typeof good === 'number'
        ? [good - 60, good + 7200, good + 0.5, -good, 0, String(good)]
        : [good.toUpperCase(), ` ${good}`, `${good} more`, newId('token'), seeded.org.borealis, 7]
    const tokens: Record<string, string> = {}
    for (const value of [undefined, null, '', true, {}, [], [good], [good, 'more'], ...ofItsKind])
      tokens[`${claim} as ${JSON.stringify(value)}`] = (
        await mint({ claims: { ...rightful.claims, [claim]: value }, is_recorded: false })
      ).token
    return notRefused(ground, tokens)
  }

const time: Attack = async (ground) => {
  const { rightful, mint } = await victimOn(ground)
  /** Of which the record says the same. */
  const between = async (iat: number, exp: number) =>
    (await mint({ claims: { iat, exp }, row: { issued_at: `to_timestamp(${iat})`, expires_at: `to_timestamp(${exp})` } })).token
  const { iat } = rightful.claims
  return notRefused(ground, {
    'one that has ended': await between(iat - 3600, iat),
    'one that has not begun': await between(iat + 60, iat + 3600),
  })
}

const audience: Attack = async (ground) => {
  const { mint } = await victimOn(ground)
  const minted = (aud: string) => mint({ claims: { aud }, row: { audience: `'${aud}'` } })
  return notRefused(ground, {
    'one for another audience': (await minted('gpuaas-node')).token,
    'one for our address': (await minted('https://gatehouse.test')).token,
  })
}

const type: Attack = async (ground) => {
  const { mint } = await victimOn(ground)
  const tokens: Record<string, string> = {}
  for (const typ of ['sro+jwt', 'wl+jwt', 'na+jwt', 'po+jwt', 'at+jwt', 'JWT', 'SA+JWT', 'application/sa+jwt', '']) {
    tokens[`type ${typ}`] = (await mint({ header: { typ } })).token
    tokens[`type ${typ}, which is recorded so`] = (await mint({ header: { typ }, row: { typ: `'${typ}'` } })).token
  }
  return notRefused(ground, tokens)
}

const selfDeclared: Attack = async (ground) => {
  const { account_id, mint } = await victimOn(ground)
  const runtime = { actor_type: 'shared_runtime_operator', shared_runtime_id: account_id }
  const header = { typ: 'sro+jwt' }
  return notRefused(ground, {
    'both a project and a runtime': (await mint({ claims: { shared_runtime_id: account_id } })).token,
    'an operator whose runtime has the id of an account': (await mint({ claims: { ...runtime, project_id: undefined }, header })).token,
    'an operator with a project': (await mint({ claims: runtime, header })).token,
    'one that was issued to a workload': (await mint({ row: { actor_type: `'workload'` } })).token,
    'one that was issued to an account that is no more': (await mint({ row: { actor_id: `'${newId('service_account')}'` } })).token,
  })
}

const unrecorded: Attack = async (ground) => {
  const { mint } = await victimOn(ground)
  const wider = 'allocation.create allocation.read project.role.read storage.write'
  return notRefused(ground, {
    'one that was never issued': (await mint({ is_recorded: false })).token,
    'one that was issued for less': (await mint({ claims: { scope: wider } })).token,
    'one whose record names another key of ours': (
      await mint({ row: { kid: `(select kid from signing_keys where state <> 'active' limit 1)` } })
    ).token,
    'one that was issued before a backup was restored': (await mint({ row: { epoch: '(select epoch + 1 from installation)' } })).token,
  })
}

/** What was good a moment ago, after something has ended it: by its row alone, so that no other fence stands before it. */
const ended =
  (end: (its: Victim & { readonly jti: string }) => readonly [statement: string, ...values: string[]], undo?: string): Attack =>
  async (ground) => {
    const victim = await victimOn(ground)
    const { token, jti } = victim.rightful
    const [statement, ...values] = end({ ...victim, jti })
    return during(
      () => ground.live.sql(statement, values),
      () => notRefused(ground, { 'one that has ended': token }),
      async () => {
        if (undo === undefined) return
        await ground.live.sql(undo)
        const { status } = await shown(ground, token)
        if (status !== 200) throw new Error(`after that a rightful token is answered ${status}`)
      },
    )
  }

const cutOff = `insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, created_at, created_by, reason)
  values (gen_random_uuid(), $1, $2, $3, now(), now(), 'test', 'test')`
const moving = (table: string, id: string, state: string) => `update ${table} set state = '${state}' where id = '${id}'`

export const attacksOnValidator = {
  'TI-15 T2 key confusion': keyConfusion,
  'TI-15 T3 header-borne keys': broughtKeys,
  'TI-15 T6 sub': badClaim('sub'),
  'TI-15 T6 actor_type': badClaim('actor_type'),
  'TI-15 T6 iss': badClaim('iss'),
  'TI-15 T6 aud': badClaim('aud'),
  'TI-15 T6 iat': badClaim('iat'),
  'TI-15 T6 exp': badClaim('exp'),
  'TI-15 T6 jti': badClaim('jti'),
  'TI-15 T6 scope': badClaim('scope'),
  'TI-15 T6 org_id': badClaim('org_id'),
  'TI-15 T6 project_id': badClaim('project_id'),
  'TI-15 T6 time': time,
  'TI-15 T7 audience': audience,
  'TI-15 T7 type': type,
  'TI-15 T8 class': selfDeclared,
  'TI-15 record': unrecorded,
  'TI-16 revoked': ended(({ jti }) => [
    `update issued_tokens set revoked_at = now(), revoked_by = $2, revoke_reason = 'test' where id = $1`,
    jti,
    somebody,
  ]),
  'TI-16 cut off with its actor': ended(({ account_id }) => [cutOff, 'actor', account_id, home.org_id]),
  'TI-16 cut off with its credential': ended(({ key_id }) => [cutOff, 'credential', key_id, home.org_id]),
  'TI-16 credential revoked': ended(({ key_id }) => [
    `update service_account_keys set revoked_at = now(), revoked_by = $2, revoke_reason = 'test' where id = $1`,
    key_id,
    somebody,
  ]),
  'TI-16 credential expired': ended(({ key_id }) => [`update service_account_keys set expires_at = now() where id = $1`, key_id]),
  'TI-16 account deleted': ended(({ account_id }) => [
    `update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = $2, delete_reason = 'test' where id = $1`,
    account_id,
    somebody,
  ]),
  'TI-16 organization suspended': ended(
    () => [moving('organizations', home.org_id, 'suspended')],
    moving('organizations', home.org_id, 'active'),
  ),
  'TI-16 project archived': ended(() => [moving('projects', home.project_id, 'archived')], moving('projects', home.project_id, 'active')),
} satisfies Record<string, Attack>
