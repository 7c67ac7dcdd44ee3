import { createOrganizationConstraint } from '@gatehouse/contract/constraints'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { describe, expect, test } from 'vitest'
import { newSecret } from '#machines/service-accounts/key-secret.ts'
import { newOperatorSecret } from '#runtimes/operator-credentials/operator-credential.ts'
import { writeOperatorCredentials } from '../../../../test/fuzz/operator-credential-calls.ts'
import { formOf, pathOf, rightfulCalls, writeServiceAccounts } from '../../../../test/fuzz/rightful-calls.ts'
import { writeSharedRuntimes } from '../../../../test/fuzz/shared-runtime-calls.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { formType, oauthClient } from '../../../../test/oauth-client.ts'

let client: Awaited<ReturnType<typeof oauthClient>>
/** What must not stray: one of our secrets, a token of ours, a person's token. */
let strays: string[]
const live = serverFixture({}, async (live) => {
  await writeServiceAccounts(live.sql)
  await writeSharedRuntimes(live.sql)
  await writeOperatorCredentials(live.sql)
  client = await oauthClient(live)
  strays = [client.client_secret, newSecret().reveal(), newOperatorSecret().reveal(), await client.token(), await live.tokenOf('alice')]
})

/** Ours are longer than a reason may be; others' are not. */
const shortToken = ['{"alg":"EdDSA"}', '{}', 'signed'].map((part) => Buffer.from(part).toString('base64url')).join('.')

const uuid = /^[0-9a-f]{8}-/
const stored = async (text: string) => {
  const kept = await live.sql<{ kept: number }>(
    `select (select count(*) from audit_logs t where t::text like $1)::int + (select count(*) from idempotency_keys t where t::text like $1)::int
          + (select count(*) from organizations t where t::text like $1)::int as kept`,
    [`%${text.slice(-40)}%`],
  )
  return kept[0]!.kept
}

describe('a credential in the address', () => {
  const paths = [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/docs/static/swagger-ui.css',
    '/.well-known/jwks.json',
    '/.well-known/oauth-authorization-server',
    '/nowhere',
    '/api/v1/nowhere',
    '/api/v1/me',
  ]

  test.for(paths)('TI-18 T18 is refused at %s, whether its value, its name or only its beginning says so', async (path) => {
    for (const stray of strays)
      for (const query of [
        `access_token=${stray}`,
        `x=${stray}`,
        `x=y&z=${stray}`,
        `x=1&x=${stray}`,
        `x=before${stray}`,
        stray,
        `${stray}=1`,
        `x${stray}=`,
        `x=Bearer%20${stray}`,
      ]) {
        const refused = await live.call(null, 'GET', `${path}?${query}`)
        expect([query, refused]).toMatchObject([
          query,
          { status: 400, body: { code: 'invalid_request', details: { detail: 'credential_in_query' } } },
        ])
        expect(refused.text).not.toContain(stray.slice(-40))
      }
    for (const query of ['token=x', 'x=Bearer+abc', 'x=bearer%20abc', 'x=DPoP%20abc'])
      expect([query, (await live.call(null, 'GET', `${path}?${query}`)).status]).toEqual([query, 400])
    const plain = await live.call(null, 'GET', path)
    expect((await live.call(null, 'GET', `${path}?x=1&y=Bearer`)).status).toBe(plain.status)
  })

  test('TI-18 T18 OAuth is told so too', async () => {
    const raw = formOf({ grant_type: 'client_credentials', ...client.own })
    const refused = await live.call(null, 'POST', `/oauth2/token?${client.client_secret}`, { raw, headers: { 'content-type': formType } })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.stringContaining('credential_in_query') },
    })
  })
})

describe('a name that may be a secret', () => {
  test('TI-18 is not repeated in the refusal of it', async () => {
    for (const name of [...strays, 'f3a9c0d17b5e4286a1b0c9d8', 'hunter2!', `long_${'x'.repeat(40)}`]) {
      const refused = await live.ask('alice', updateOrganization, {
        params: { org_id: seeded.org.aurora },
        body: { name: 'Aurora', [name]: true },
      })
      expect(refused).toMatchObject({
        status: 400,
        body: { code: 'validation_error', details: { fields: [{ in: 'body', field: '[secret]', message: 'is not known here' }] } },
      })
      expect(refused.text).not.toContain(name)
      const within = { key: 'k', actions: ['storage.*'], condition: { within: { source_ip: { [name]: 1 } } } }
      const deep = await live.call('alice', 'POST', `/api/v1/orgs/${seeded.org.aurora}/policies/constraints`, { body: within })
      expect([deep.status, deep.text.includes(name)]).toEqual([400, false])
    }
    const unknown = await live.call('alice', 'GET', '/api/v1/orgs?f3a9c0d17b5e4286a1b0c9d8=1')
    expect(unknown.body.details).toEqual({ fields: [{ in: 'query', field: '[secret]', message: 'is not known here' }] })
  })

  test('HO-04 every name of ours is told', async () => {
    const namesIn = (schema: unknown): string[] =>
      typeof schema !== 'object' || schema === null
        ? []
        : Object.entries(schema).flatMap(([key, value]) => [
            ...(key === 'properties' ? Object.keys(value as object) : []),
            ...namesIn(value),
          ])
    const names = new Set(rightfulCalls.flatMap(({ operation: { body, query, params } }) => [body, query, params].flatMap(namesIn)))
    expect(names.size).toBeGreaterThan(30)
    const { toldName } = await import('./validation.ts')
    for (const name of [...names, '0', '99', 'slug2']) expect(toldName(name)).toBe(name)
  })
})

describe('a secret in a text', () => {
  const inJson = rightfulCalls.filter(({ operation, body }) => operation.speaks === 'json' && body && operation.body)
  const hasReason = ({ operation: { body } }: (typeof inJson)[number]) =>
    Object.hasOwn((body as { properties?: object }).properties ?? {}, 'reason')

  test.for(inJson.filter(hasReason).map((call) => [call.operation.id, call] as const))(
    'TI-12 TI-18 %s takes none as a reason',
    async ([, { operation, person, params, body }]) => {
      for (const stray of [strays[1]!, shortToken]) {
        const bearer = operation.identified_by === 'bearer' ? person : null
        const sending = { body: { ...body, reason: `because of ${stray}.` }, headers: { 'x-request-id': 'stray' } }
        const refused = await live.call(bearer, operation.method, pathOf(operation.path, params), sending)
        expect(refused).toMatchObject({
          status: 400,
          body: { code: 'validation_error', details: { fields: [{ in: 'body', field: 'reason', message: 'holds a secret' }] } },
        })
        expect(refused.text).not.toContain(stray)
        expect(await stored(stray)).toBe(0)
      }
    },
  )

  test('TI-18 nor as a name, within a value or as the name of a member there', async () => {
    for (const stray of strays) {
      const named = await live.ask('alice', updateOrganization, {
        params: { org_id: seeded.org.aurora },
        body: { name: stray.slice(0, 100) },
      })
      expect(named.status).toBe(stray.length <= 100 ? 400 : named.status)
      const rule = (condition: object) => ({ body: { key: 'k', actions: ['storage.*'], condition } })
      const within = await live.ask('alice', createOrganizationConstraint, {
        params: { org_id: seeded.org.aurora },
        ...rule({ equal: { 'resource.region': stray } }),
      })
      expect([within.status, within.text.includes(stray)]).toEqual([400, false])
      expect(await stored(stray)).toBe(0)
    }
  })

  test('TI-18 nor in a form, but where it belongs', async () => {
    for (const stray of strays) {
      const refused = await client.ask({ scope: `project.read ${stray}` })
      expect(refused).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', error_description: expect.stringContaining('scope holds a secret') },
      })
      expect(refused.text).not.toContain(stray)
      expect((await client.introspect({ token: stray })).status).toBe(200)
    }
    expect((await client.introspect({ token: strays[2], client_id: client.client_secret })).status).toBe(400)
  })

  test('TI-18 nor as an idempotency key', async () => {
    for (const stray of strays.filter(({ length }) => length <= 128)) {
      const headers = { 'idempotency-key': `k-${stray}` }
      const refused = await live.ask('alice', updateOrganization, {
        params: { org_id: seeded.org.aurora },
        body: { name: 'Aurora' },
        headers,
      })
      expect(refused).toMatchObject({
        status: 400,
        body: { details: { fields: [{ in: 'header', field: 'idempotency-key', message: 'holds a secret' }] } },
      })
      expect(refused.text).not.toContain(stray)
      expect((await client.machine_ask({}, headers)).status).toBe(400)
      expect(await stored(stray)).toBe(0)
    }
  })

  test('TI-18 AU-03 nor as the id of a request: it gets another', async () => {
    for (const stray of [...strays, shortToken])
      for (const header of ['x-request-id', 'x-correlation-id']) {
        const changed = await live.ask('alice', updateOrganization, {
          params: { org_id: seeded.org.aurora },
          body: { name: 'Aurora' },
          headers: { [header]: stray },
        })
        expect(changed.status).toBe(200)
        expect(changed.headers.get('x-request-id')).toMatch(uuid)
        expect(changed.headers.get('x-correlation-id')).toBe(changed.headers.get('x-request-id'))
        expect(await stored(stray)).toBe(0)
      }
  })

  test('the search for it finds what is stored', async () => {
    expect(await stored('Aurora')).toBeGreaterThan(0)
  })
})
