import { expect } from 'vitest'
import { rotateSigningKey } from '../contract/src/signing-keys.ts'
import { parseKeyRing } from '../server/src/ground/custody/key-ring.ts'
import { keepFresh } from '../server/src/ground/epochs/fresh.ts'
import { auditKey } from '../server/src/ground/installation/own-secrets.ts'
import { newId } from '../server/src/ground/kernel/ids.ts'
import { type KeySet, keySetSource } from '../server/src/machines/keys/key-set.ts'
import { type Tending, tendKeys } from '../server/src/machines/keys/tend-keys.ts'
import { appendWith } from '../server/src/rails/audit/append.ts'
import { fixture } from './fixture.ts'
import { type LiveServer, seeded, testKeys } from './live-server.ts'
import { unhurried } from './unhurried.ts'

export const ring = parseKeyRing(testKeys)
const path = '/api/v1/admin/signing-keys'
export const reason = { body: { reason: 'because' } }
const { org, project } = seeded

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

export const input = Buffer.from('eyJhbGciOiJFUzI1NiJ9.e30')

/** Steps that tests of signing keys share. */
export const signingKeysOn = (live: LiveServer) => {
  const tending = fixture(async (): Promise<Tending> => {
    const append = appendWith({ region: 'test', key: await auditKey(live.database, ring) })
    return { database: live.database, append, ring, transit: null, algorithm: 'ES256' }
  })
  const keys = (where = 'true') => live.sql<Row>(`select * from signing_keys where ${where} order by created_at desc`)
  const inState = (state: string) => keys(`state = '${state}'`)
  const kidIn = async (state: string) => (await inState(state))[0]!.kid
  /** As if it had been public since yesterday. */
  const age = () => live.sql(`update signing_keys set created_at = created_at - interval '1 day' where state = 'staged'`)
  const rotate = (url?: string) => live.ask('ada', rotateSigningKey, { ...reason, base: url })
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
    const { values } = await keepFresh(live.database, unhurried.fresh)
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
  return { age, end, inState, issuedWith, jwks, keySetOf, keys, kidIn, publishedKids, rotate, staged, startAnew, tending }
}
