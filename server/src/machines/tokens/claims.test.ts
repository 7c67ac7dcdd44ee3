import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { SigningKey } from '../keys/key-set.ts'
import { type Binding, claimsOf, signedToken } from './claims.ts'
import { type MachineClass, typeOf } from './machine-class.ts'

const key: SigningKey = { kid: 'the-first-key', alg: 'ES256', custody: { kind: 'envelope', envelope: {} } }
const digest = async (_key: SigningKey, input: Buffer) => createHash('sha256').update(input).digest()

const said = <C extends MachineClass>(actor_type: C, binding: Binding<C>) =>
  claimsOf({
    actor_type,
    actor_id: '01890000-0000-7000-8000-00000000000a',
    issuer: 'https://iam.example',
    audience: 'gpuaas-api',
    issued_at: '2026-03-04T05:06:07.891Z',
    ttl_seconds: 900,
    jti: '01890000-0000-7000-8000-00000000000b',
    scope: ['allocation.create', 'allocation.read'],
    binding,
  })

const decoded = (part: string | undefined) => Buffer.from(part!, 'base64url').toString()

// Literal texts: what resource servers read must not change because something here does.
test('TI-02 TI-03 the claims of a service account, letter by letter', async () => {
  const binding = { org_id: '01890000-0000-7000-8000-00000000000c', project_id: '01890000-0000-7000-8000-00000000000d' }
  const [header, payload] = (await signedToken(digest, key, typeOf.service_account, said('service_account', binding))).split('.')
  expect(decoded(header)).toBe('{"alg":"ES256","kid":"the-first-key","typ":"sa+jwt"}')
  expect(decoded(payload)).toBe(
    '{"sub":"01890000-0000-7000-8000-00000000000a","actor_type":"service_account","iss":"https://iam.example","aud":"gpuaas-api","iat":1772600767,"exp":1772601667,"jti":"01890000-0000-7000-8000-00000000000b","scope":"allocation.create allocation.read","org_id":"01890000-0000-7000-8000-00000000000c","project_id":"01890000-0000-7000-8000-00000000000d"}',
  )
})

test('TI-02 TI-03 the claims of a shared runtime’s operator, letter by letter', async () => {
  const binding = { org_id: '01890000-0000-7000-8000-00000000000c', shared_runtime_id: '01890000-0000-7000-8000-00000000000a' }
  const [header, payload] = (
    await signedToken(digest, key, typeOf.shared_runtime_operator, said('shared_runtime_operator', binding))
  ).split('.')
  expect(decoded(header)).toBe('{"alg":"ES256","kid":"the-first-key","typ":"sro+jwt"}')
  expect(decoded(payload)).toBe(
    '{"sub":"01890000-0000-7000-8000-00000000000a","actor_type":"shared_runtime_operator","iss":"https://iam.example","aud":"gpuaas-api","iat":1772600767,"exp":1772601667,"jti":"01890000-0000-7000-8000-00000000000b","scope":"allocation.create allocation.read","org_id":"01890000-0000-7000-8000-00000000000c","shared_runtime_id":"01890000-0000-7000-8000-00000000000a"}',
  )
})

const everybody = 'sub actor_type iss aud iat exp jti scope'
const id = '01890000-0000-7000-8000-00000000000e'
test.each([
  ['workload', { org_id: id, project_id: id, app_instance_id: id }, 'org_id project_id app_instance_id'],
  ['node_agent', { node_id: id, cnf: { 'x5t#S256': 'A'.repeat(43) } }, 'node_id cnf'],
  ['platform_operator', { platform_role: 'platform_ops', target_type: 'node', target_id: id }, 'platform_role target_type target_id'],
] as const)('TI-02 the claims of a %s', (actor_type, binding, own) => {
  expect(Object.keys(said(actor_type, binding as never)).join(' ')).toBe(`${everybody} ${own}`)
})

test('TI-02 TI-15 each class has a type of its own', () => {
  expect(new Set(Object.values(typeOf)).size).toBe(Object.keys(typeOf).length)
})

test('TI-02 the signature is over what is sent', async () => {
  const token = await signedToken(digest, key, typeOf.service_account, said('service_account', { org_id: id, project_id: id }))
  const [signed, signature] = [token.slice(0, token.lastIndexOf('.')), token.slice(token.lastIndexOf('.') + 1)]
  expect(signature).toBe(createHash('sha256').update(signed).digest('base64url'))
})
