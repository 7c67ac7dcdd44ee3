import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answered, type LiveServer, liveServer, seeded } from '../../../test/live-server.ts'
import { operatorTokenPath } from '../../../test/operator-credential.ts'
import { type Runtimes, runtimesOn } from '../../../test/runtime-scene.ts'
import { holdsSecret } from '../kernel/secret-in-text.ts'
import { secretsBeginning } from '../kernel/spelled-secret.ts'
import { isSecretOf } from '../service-accounts/key-secret.ts'

const { org, user } = seeded

let live: LiveServer
let runtimes: Runtimes
beforeAll(async () => {
  live = await liveServer()
  for (const key of ['api', 'machine']) await live.setPolicy(`rate_limit.${key}_requests_per_minute`, 1_000_000)
  await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', 1)
  runtimes = runtimesOn(live)
})
afterAll(() => live.stop())

const keys = (id: string, more = '', org_id: string = org.aurora) => runtimes.one(id, `/operator-credentials${more}`, org_id)
const make = (id: string, body: object = {}, who = 'alice') => live.call(who, 'POST', keys(id), { body })
const list = async (id: string) => (await live.call('adam', 'GET', keys(id))).body.items as { key_id: string; state: string }[]
const ask = (credential: object, body: object = {}) => live.call(null, 'POST', operatorTokenPath, { body: { ...credential, ...body } })
const as = (token: string, id: string, more = '') =>
  live.call(null, 'GET', runtimes.one(id, more), { headers: { authorization: `Bearer ${token}` } })
const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code ?? body?.details?.detail]

describe('a credential of a runtime’s operator', () => {
  test('MI-02 is made with its secret once, becomes a token, and by that speaks for this runtime alone', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    const made = await make(id, { reason: 'the controller' })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { client_secret, ...told } = made.body
    expect(secretsBeginning('ghro_').isSpelled(client_secret)).toBe(true)
    expect(holdsSecret(client_secret)).toBe(true)
    expect(told).toEqual({
      key_id: told.key_id,
      shared_runtime_id: id,
      state: 'active',
      created_at: told.created_at,
      created_by: user('alice'),
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
      credential_session_id: told.key_id,
    })
    // Only its salted hash is kept, and nobody is told it again.
    const [row] = await live.sql('select salt, secret_hash from shared_runtime_operator_credentials where id = $1', [told.key_id])
    expect(isSecretOf(row as never, client_secret)).toBe(true)
    const listing = await live.call('adam', 'GET', keys(id))
    expect([listing.body.items.length, listing.text.includes('ghro_'), listing.text.includes('hash')]).toEqual([1, false, false])

    const issued = await ask({ shared_runtime_id: id, key_id: told.key_id, client_secret })
    expect([issued.status, issued.body.token_type, issued.body.credential_type]).toEqual([200, 'Bearer', 'jwt_bearer'])
    expect((await as(issued.body.access_token, id)).body).toMatchObject({ id, org_id: org.aurora })
    expect(refused(await as(issued.body.access_token, other))).toEqual([403, 'insufficient_permissions', 'scope_mismatch'])
    expect((await list(id))[0]).toMatchObject({ state: 'active', last_used_at: expect.stringMatching(/:00\.000Z$/) })

    const [recorded] = await live.auditOf(made.headers.get('x-request-id')!)
    expect(recorded).toMatchObject({
      action: 'shared_runtime.operator_credential.create',
      resource_type: 'operator_credential',
      resource_id: told.key_id,
      tenant_id: org.aurora,
      result: 'success',
      metadata: { shared_runtime_id: id, reason: 'the controller' },
    })
  })
})
