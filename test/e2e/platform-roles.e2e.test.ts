import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalIssuer, localIssuer, signText } from '../../server/src/people/principals/oidc/testing/local-issuer.ts'
import { bundleOf } from '../bundles.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { addressOf, launcher } from './launched.ts'

const project = join(import.meta.dirname, '../..')
const key = 'authorization.platform_role_source'

let issuer: LocalIssuer
let folder: string
let clone: ClonedDatabase
let keys: string
let url: string
const processes = launcher()

beforeAll(async () => {
  issuer = await localIssuer()
})
afterAll(() => issuer.stop())
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-platform-roles-'))
  clone = await cloneDatabase()
  keys = `k1:${randomBytes(32).toString('base64url')}`
  url = await startServer()
})
afterEach(async () => {
  await processes.endAll()
  await clone.drop()
  rmSync(folder, { recursive: true })
})

const settings = () => ({
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  GATEHOUSE_KEY_ENCRYPTION_KEYS: keys,
  GATEHOUSE_CHECKPOINT_FILE: join(folder, 'checkpoints.jsonl'),
  DATABASE_URL: clone.appUrl,
})

const launch = (command: string, words: string[], env: Record<string, string>) => processes.launch(command, words, { cwd: folder, env })

/** The provider of a test answers on loopback, which production refuses: so the server is a development one, without its people. */
const startServer = async (): Promise<string> => {
  const launched = launch(process.execPath, [await bundleOf('server')], {
    ...settings(),
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_PORT: '0',
    GATEHOUSE_NODES_PORT: '0',
    GATEHOUSE_METRICS_PORT: '0',
    GATEHOUSE_LIFELINE: 'stdin',
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([issuer.settings]),
  })
  return addressOf(launched)
}

/** A script as an operator of a production runs it, from wherever he stands, beside the running server. */
const script = async (name: string, words: Record<string, string>): Promise<{ code: number | null; text: string }> => {
  const given = Object.entries(words).flatMap(([word, value]) => [`--${word}`, value])
  const { heard, closed } = launch('bash', [join(project, `scripts/ops/${name}.sh`), ...given], {
    ...settings(),
    GATEHOUSE_PROFILE: 'production',
    GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example.com',
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([{ issuer: 'https://sso.example.com', audience: 'gatehouse-api' }]),
  })
  return { code: await closed, text: heard.text }
}
const bind = (words: Record<string, string>) => script('bind_platform_role', words)
const revoke = (words: Record<string, string>) => script('revoke_platform_role', words)

const rows = (text: string, values: unknown[] = []) =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text, values)).rows)
const auditOf = (id: string) => rows('select * from audit_logs where correlation_id = $1 order by seq', [id])

/** Somebody with a token for the whole test, known from his first request on. */
const signIn = async (sub: string, claims: object = {}) => {
  const now = Math.floor(Date.now() / 1000)
  const token = await signText(issuer.key, JSON.stringify(issuer.claims(now, { sub, preferred_username: sub, exp: now + 3600, ...claims })))
  const get = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const { id } = (await (await get('/api/v1/me')).json()) as { id: string }
  return { id, name: `${issuer.issuer}#${sub}`, administers: async () => (await get('/api/v1/admin/users')).status === 200 }
}

const superadmin = { role: 'platform_superadmin', reason: 'the first one' }

test('RP-26 the first superadmin: a person signs in, a script binds him, and his old token serves at once', async () => {
  const first = await signIn('first')
  expect(await first.administers()).toBe(false)
  const order = { ...superadmin, user: first.name, 'correlation-id': 'CHG-1' }

  const { 'correlation-id': _, ...unnamed } = order
  expect(await bind(unnamed)).toMatchObject({ code: 2, text: expect.stringContaining('--correlation-id is required') })
  expect(await rows('select 1 from platform_role_bindings')).toEqual([])

  expect(await bind(order)).toMatchObject({ code: 0, text: expect.stringContaining(first.id) })
  expect(await first.administers()).toBe(true)
  expect(await auditOf('CHG-1')).toMatchObject([
    {
      action: 'role_binding.create',
      actor_type: 'system',
      actor_id: 'bind_platform_role',
      result: 'success',
      severity: 'high',
      tenant_id: null,
      metadata: {
        principal_id: first.id,
        role_name: 'platform_superadmin',
        reason: 'the first one',
        operator: userInfo().username,
      },
    },
  ])
  expect(await rows('select role from users where id = $1', [first.id])).toEqual([{ role: 'admin' }])

  expect(await bind({ ...order, 'correlation-id': 'CHG-2' })).toMatchObject({ code: 0, text: expect.stringContaining('already bound') })
  expect(await auditOf('CHG-2')).toEqual([])

  // The last one stays, and that somebody tried is kept.
  expect(await revoke({ ...order, 'correlation-id': 'CHG-3' })).toMatchObject({
    code: 2,
    text: expect.stringContaining('The last superadmin'),
  })
  expect(await auditOf('CHG-3')).toMatchObject([
    { action: 'role_binding.end', actor_id: 'revoke_platform_role', result: 'denied', reason_code: 'last_owner', severity: 'high' },
  ])
  expect(await first.administers()).toBe(true)

  const second = await signIn('second', { email: 'Second@example.com', email_verified: true })
  expect(await bind({ ...order, user: 'second@EXAMPLE.com', 'correlation-id': 'CHG-4' })).toMatchObject({ code: 0 })
  expect(await second.administers()).toBe(true)
  expect(await revoke({ ...order, user: first.id, 'correlation-id': 'CHG-5' })).toMatchObject({ code: 0 })
  expect([await first.administers(), await second.administers()]).toEqual([false, true])
  expect(await auditOf('CHG-5')).toMatchObject([{ action: 'role_binding.end', metadata: { operator: userInfo().username } }])
})

test('RP-25 a source of platform roles that cannot be read is set again by a script, when nobody may do it otherwise', async () => {
  const first = await signIn('first')
  await bind({ ...superadmin, user: first.id, 'correlation-id': 'CHG-10' })
  await rows(`update policy_values set value = '"nowhere"' where key = $1`, [key])
  expect(await first.administers()).toBe(false)
  const order = { key, value: 'bindings', reason: 'it was unreadable', 'correlation-id': 'CHG-11' }
  expect(await script('set_policy_value', { ...order, 'correlation-id': 'CHG-12' })).toMatchObject({ code: 0 })
  expect(await first.administers()).toBe(true)
  expect(await auditOf('CHG-12')).toMatchObject([
    {
      action: 'policy.value.set',
      actor_id: 'set_policy_value',
      severity: 'high',
      metadata: { to: 'bindings', operator: userInfo().username },
    },
  ])
})
