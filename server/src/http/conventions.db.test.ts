import { exchangeGrant, tokenTypes } from '@gatehouse/contract/oauth'
import { oauthErrorOf } from '@gatehouse/contract/oauth-errors'
import { operations } from '@gatehouse/contract/operations'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { beforeAll, describe, expect, test } from 'vitest'
import { grantOf, writeAccessGrants } from '../../../test/fuzz/access-grant-calls.ts'
import { allocationOf, writeAllocations } from '../../../test/fuzz/allocation-calls.ts'
import { nodeOf, writeNodes } from '../../../test/fuzz/node-calls.ts'
import { writeNodeTasks } from '../../../test/fuzz/node-task-calls.ts'
import { operatorKeyOf, writeOperatorCredentials } from '../../../test/fuzz/operator-credential-calls.ts'
import { rawExchange } from '../../../test/fuzz/raw-exchange.ts'
import {
  bearerFor,
  bindingOf,
  constraintOf,
  invitationOf,
  keyOf,
  pathOf,
  rightfulCalls,
  roleOf,
  sendingOf,
  serviceAccountOf,
  sshKeyOf,
  tokenOf,
  writeConstraints,
  writeInvitations,
  writeRoles,
  writeServiceAccounts,
  writeSigningKeys,
  writeSshKeys,
  writeTokens,
} from '../../../test/fuzz/rightful-calls.ts'
import { attachmentOf, credentialOf, runtimeOf, writeSharedRuntimes } from '../../../test/fuzz/shared-runtime-calls.ts'
import { type Answered, type LiveServer, noRateLimits, seeded, serverFixture, tokenIssuer } from '../../../test/live-server.ts'
import { operatorWithSecret } from '../../../test/operator-credential.ts'
import { newKeyLine } from '../../../test/ssh-key-lines.ts'
import { fixedId, newId } from '../kernel/ids.ts'
import { Secret } from '../kernel/secret.ts'
import { keyPair, proofOf } from '../oauth/testing/signing.ts'
import { signText } from '../principals/oidc/testing/local-issuer.ts'
import { sealedCursors } from './cursor.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, async (live) => {
  await writeConstraints(live.sql)
  await writeInvitations(live.sql)
  await writeRoles(live.sql)
  await writeServiceAccounts(live.sql)
  await writeNodes(live.sql)
  await writeNodeTasks(live.sql)
  await writeAllocations(live.sql)
  await writeAccessGrants(live.sql)
  await writeSshKeys(live.sql)
  await writeSharedRuntimes(live.sql)
  await writeOperatorCredentials(live.sql)
  await writeSigningKeys(live.sql)
  await writeTokens(live.sql)
})

const { org, project, user } = seeded
const uuid = new RegExp(uuidPattern)
const nobody = '01890000-0000-7000-8000-000000000000'
const aurora = `/api/v1/orgs/${org.aurora}`
const training = `/api/v1/projects/${project.aurora}`
let slugs = 0
const slug = () => `convention-${++slugs}`

const limit = 256 * 1024
const padded = (length: number) => JSON.stringify({ name: 'Padded' }).padEnd(length)

describe('errors', () => {
  const expired = async () => {
    const now = Math.floor(Date.now() / 1000)
    return signText(live.issuer.key, JSON.stringify(live.issuer.claims(now - 7200, { exp: now - 3600 })))
  }
  const values = `${aurora}/policies/values`
  const invitations = `${values}/tenancy.invitation_ttl_seconds`
  const letIn = (body: object) => live.call('asha', 'POST', `/api/v1/allocations/${allocationOf('own')}/access-grants`, { body })
  const constraints = `${aurora}/policies/constraints`
  const binding = { principal_type: 'user', principal_id: user('axel'), role_name: 'project_viewer' }
  const twice = async (...call: Parameters<LiveServer['call']>) => {
    await live.call(...call)
    return live.call(...call)
  }

  const asked = (changed: object, more: Record<string, string> = {}) => {
    const { operation, body } = rightfulCalls.find((call) => call.operation.id === 'oauth.token.issue')!
    const { headers, ...sending } = sendingOf(operation, { ...body, ...changed })
    return live.call(null, 'POST', operation.path, { ...sending, headers: { ...headers, ...more } })
  }

  /** How each code comes about today, and on which operation. */
  const provoked: Partial<Record<ProblemCode, [operation: string | null, provoke: () => Promise<Answered>]>> = {
    validation_error: ['organization.update', () => live.call('alice', 'PATCH', aurora, { body: { name: 7 } })],
    invalid_request: ['organization.update', () => live.call('alice', 'PATCH', aurora, { raw: '{' })],
    cursor_invalid: ['organization.list', () => live.call('alice', 'GET', '/api/v1/orgs?cursor=AAAA')],
    unsupported_grant_type: ['oauth.token.issue', () => asked({ grant_type: 'password' })],
    invalid_scope: ['oauth.token.issue', () => asked({ scope: 'platform.admin' })],
    subject_token_invalid: [
      'oauth.token.issue',
      () => asked({ grant_type: exchangeGrant, subject_token: 'nobodys', subject_token_type: tokenTypes.jwt }),
    ],
    invalid_target: ['oauth.token.issue', () => asked({ audience: 'nobody' })],
    token_missing: ['me.read', () => live.call(null, 'GET', '/api/v1/me')],
    token_invalid: ['me.read', () => live.call(null, 'GET', '/api/v1/me', { headers: { authorization: 'Bearer nonsense' } })],
    token_expired: [
      'me.read',
      async () => live.call(null, 'GET', '/api/v1/me', { headers: { authorization: `Bearer ${await expired()}` } }),
    ],
    proof_invalid: [
      'me.read',
      async () => {
        const { body } = await asked({}, { dpop: proofOf(keyPair(), { method: 'POST', url: `${tokenIssuer.url}/oauth2/token` }) })
        return live.call(null, 'GET', '/api/v1/me', { headers: { authorization: `Bearer ${body.access_token}` } })
      },
    ],
    insufficient_permissions: ['organization.update', () => live.call('anna', 'PATCH', aurora, { body: { name: 'Mine' } })],
    route_not_found: [null, () => live.call('anna', 'GET', '/api/v1/nowhere')],
    access_grant_not_found: [
      'allocation.access_grant.revoke',
      () => live.call('asha', 'DELETE', `/api/v1/allocations/${allocationOf('own')}/access-grants/${nobody}`, { body: {} }),
    ],
    grantee_not_member: ['allocation.access_grant.create', () => letIn({ grantee_user_id: user('anna'), ssh_key_id: nobody })],
    ssh_key_not_personal: [
      'allocation.access_grant.create',
      () => letIn({ grantee_user_id: user('axel'), ssh_key_id: sshKeyOf('of_project') }),
    ],
    allocation_not_found: ['allocation.read', () => live.call('asha', 'GET', `/api/v1/allocations/${nobody}`)],
    allocation_not_active: [
      'allocation.ssh_keys.replace',
      async () => {
        const wish = { project_id: project.aurora, name: 'short', region: 'sweep', sku: 'sweep', gpus: 1 }
        const { body } = await live.call('asha', 'POST', '/api/v1/allocations', { body: wish })
        await live.call('asha', 'POST', `/api/v1/allocations/${body.id}/release`, { body: {} })
        return live.call('asha', 'PUT', `/api/v1/allocations/${body.id}/ssh-keys`, { body: { ssh_key_ids: [] } })
      },
    ],
    operator_credential_not_found: [
      'shared_runtime.operator_credential.revoke',
      () =>
        live.call('adam', 'DELETE', `${aurora}/shared-app-runtimes/${runtimeOf('own')}/operator-credentials/${nobody}`, {
          body: { reason: 'because' },
        }),
    ],
    attachment_not_found: [
      'shared_runtime.attachment.read',
      () => live.call('anna', 'GET', `${aurora}/shared-app-runtimes/${runtimeOf('own')}/attachments/${nobody}`),
    ],
    attachment_already_exists: [
      'shared_runtime.attachment.create',
      () =>
        live.call('adam', 'POST', `${aurora}/shared-app-runtimes/${runtimeOf('own')}/attachments`, {
          body: { project_id: project.aurora, contribution_policy: 'all' },
        }),
    ],
    runtime_credential_not_found: [
      'shared_runtime.credential.revoke',
      () =>
        live.call('adam', 'DELETE', `${aurora}/shared-app-runtimes/${runtimeOf('own')}/credentials/${nobody}`, { body: { reason: 'r' } }),
    ],
    delivery_not_found: [
      'delivery.unwrap',
      async () => {
        const operator = await operatorWithSecret(live, runtimeOf('own'))
        const headers = { authorization: `Bearer ${await operator.token()}` }
        return live.call(null, 'POST', '/api/v1/deliveries/unwrap', { body: { wrapping_token: 'nobodys' }, headers })
      },
    ],
    shared_runtime_already_exists: [
      'shared_runtime.create',
      () =>
        live.call('adam', 'POST', `${aurora}/shared-app-runtimes`, {
          body: { app_slug: 'sweep', app_version: '1', display_name: 'Sweep own', runtime_backend: 'slurm' },
        }),
    ],
    shared_runtime_not_found: [
      'allocation.create',
      () =>
        live.call('asha', 'POST', '/api/v1/allocations', {
          body: { project_id: project.aurora, name: 'tagged', region: 'sweep', sku: 'sweep', gpus: 1, shared_runtime_id: nobody },
        }),
    ],
    node_not_found: ['node.read', () => live.call('otto', 'GET', `/api/v1/admin/nodes/${nobody}`)],
    node_already_exists: [
      'node.create',
      () => twice('ada', 'POST', '/api/v1/admin/nodes', { body: { name: 'twice', region: 'nowhere', sku: 'sweep', gpus: 1 } }),
    ],
    signer_not_found: [
      'node.signer.revoke',
      () => live.call('ada', 'POST', `/api/v1/admin/node-signers/${'A'.repeat(43)}/revoke`, { body: { reason: 'x' } }),
    ],
    organization_not_found: ['organization.read', () => live.call('anna', 'GET', `/api/v1/orgs/${org.borealis}`)],
    project_not_found: ['project.read', () => live.call('anna', 'GET', `/api/v1/projects/${project.borealis}`)],
    user_not_found: ['user.read', () => live.call('ada', 'GET', `/api/v1/admin/users/${nobody}`)],
    member_not_found: ['organization.member.remove', () => live.call('alice', 'DELETE', `${aurora}/members/${nobody}`)],
    role_not_found: [
      'project.member.add',
      () => live.call('amara', 'POST', `${training}/members`, { body: { user_id: user('anna'), role_name: 'no_such_role' } }),
    ],
    role_already_exists: [
      'role.create_of_organization',
      () => twice('alice', 'POST', `${aurora}/roles`, { body: { name: 'twice', permissions: ['tenant.read'] } }),
    ],
    role_immutable: [
      'role.delete_of_organization',
      () => live.call('alice', 'DELETE', `${aurora}/roles/${fixedId('role', 'tenant_owner')}`, { body: { reason: 'r' } }),
    ],
    role_not_assignable: [
      'role_binding.create_of_project',
      () =>
        live.call('amara', 'POST', `${training}/role-bindings`, {
          body: { role_name: 'project_admin', principal_type: 'service_account', principal_id: serviceAccountOf('active') },
        }),
    ],
    binding_already_exists: [
      'role_binding.create_of_project',
      () => live.call('amara', 'POST', `${training}/role-bindings`, { body: binding }),
    ],
    binding_not_found: [
      'role_binding.end_of_project',
      () => live.call('amara', 'DELETE', `${training}/role-bindings/${nobody}`, { body: {} }),
    ],
    not_project_member: [
      'role_binding.create_of_project',
      () => live.call('amara', 'POST', `${training}/role-bindings`, { body: { ...binding, principal_id: user('anna') } }),
    ],
    service_account_not_found: ['service_account.read', () => live.call('aldo', 'GET', `${training}/service-accounts/${nobody}`)],
    service_account_key_not_found: [
      'service_account.key.revoke',
      () =>
        live.call('aldo', 'DELETE', `${training}/service-accounts/${serviceAccountOf('active')}/keys/${nobody}`, { body: { reason: 'r' } }),
    ],
    service_account_already_exists: [
      'service_account.create',
      () => twice('aldo', 'POST', `${training}/service-accounts`, { body: { name: 'Twice', slug: 'twice' } }),
    ],
    policy_not_found: ['policy.value.set_of_organization', () => live.call('alice', 'PUT', `${values}/no.such`, { body: { value: 1 } })],
    policy_out_of_bounds: ['policy.value.set_of_organization', () => live.call('alice', 'PUT', invitations, { body: { value: 1 } })],
    invalid_key: ['ssh_key.create', () => live.call('asha', 'POST', '/api/v1/ssh-keys', { body: { name: 'n', public_key: 'none' } })],
    ssh_key_not_found: ['ssh_key.delete', () => live.call('asha', 'DELETE', `/api/v1/ssh-keys/${nobody}`, { body: {} })],
    ssh_key_already_exists: [
      'ssh_key.create',
      () => twice('asha', 'POST', '/api/v1/ssh-keys', { body: { name: 'n', public_key: newKeyLine() } }),
    ],
    version_conflict: [
      'policy.value.set_of_organization',
      () => live.call('alice', 'PUT', invitations, { body: { value: 7200, expected_version: 77 } }),
    ],
    signing_key_not_found: [
      'signing_key.retire',
      () => live.call('ada', 'POST', '/api/v1/admin/signing-keys/no-such-key/retire', { body: { reason: 'test' } }),
    ],
    token_not_found: ['auth.token.revoke', () => live.call('amara', 'POST', '/api/v1/auth/tokens/revoke', { body: { token_id: nobody } })],
    constraint_not_found: ['policy.constraint.read_of_organization', () => live.call('alice', 'GET', `${constraints}/${nobody}`)],
    constraint_already_exists: [
      'policy.constraint.create_of_organization',
      () => twice('alice', 'POST', constraints, { body: { key: 'twice', actions: ['allocation.create'], condition: {} } }),
    ],
    invitation_not_found: [
      'invitation.end_of_organization',
      () => live.call('alice', 'DELETE', `${aurora}/invitations/${nobody}`, { body: {} }),
    ],
    invitation_already_exists: [
      'invitation.create_of_organization',
      () => twice('alice', 'POST', `${aurora}/invitations`, { body: { email: 'twice@mail.example', role_name: 'tenant_viewer' } }),
    ],
    organization_already_exists: [
      'organization.create',
      () => twice('ada', 'POST', '/api/v1/orgs', { body: { name: 'O', slug: 'twice', owner_user_id: user('anna') } }),
    ],
    project_already_exists: ['project.create', () => twice('alice', 'POST', `${aurora}/projects`, { body: { name: 'P', slug: 'twice' } })],
    member_already_exists: [
      'project.member.add',
      () => live.call('amara', 'POST', `${training}/members`, { body: { user_id: user('axel'), role_name: 'project_viewer' } }),
    ],
    last_owner: ['organization.member.remove', () => live.call('alice', 'DELETE', `${aurora}/members/${user('alice')}`)],
    not_tenant_member: [
      'project.member.add',
      () => live.call('amara', 'POST', `${training}/members`, { body: { user_id: user('bella'), role_name: 'project_viewer' } }),
    ],
    state_conflict: ['project.restore', () => live.call('adam', 'POST', `${training}/restore`, { body: { reason: 'r' } })],
    body_too_large: ['organization.update', () => live.call('alice', 'PATCH', aurora, { raw: padded(limit + 1) })],
    unsupported_media_type: [
      'organization.update',
      () => live.call('alice', 'PATCH', aurora, { raw: '{}', headers: { 'content-type': 'text/plain' } }),
    ],
    idempotency_key_reused: [
      'organization.update',
      async () => {
        await live.call('alice', 'PATCH', aurora, { body: { name: 'One' }, headers: { 'idempotency-key': 'reused' } })
        return live.call('alice', 'PATCH', aurora, { body: { name: 'Two' }, headers: { 'idempotency-key': 'reused' } })
      },
    ],
  }
  /** Those that need a broken world, a clock or an operation that does not exist yet. */
  const elsewhere: Partial<Record<ProblemCode, string>> = {
    rate_limit_exceeded: 'rate.db.test.ts',
    policy_unavailable: 'rate.db.test.ts',
    request_timeout: 'hostile-input.db.test.ts',
    headers_too_large: 'hostile-input.db.test.ts',
    internal_error: 'invariants.db.test.ts',
    dependency_unavailable: 'invariants.db.test.ts',
    idempotency_in_progress: 'idempotency.db.test.ts',
    credential_already_issued: 'idempotency.db.test.ts',
    limit_reached: 'service-accounts.db.test.ts',
    invalid_csr: 'node-trust.db.test.ts',
    certificate_missing: 'node-trust.db.test.ts',
  }

  test('HO-04 every code of the catalogue is provoked somewhere', () => {
    expect(Object.keys(problems).filter((code) => !(code in provoked) && !(code in elsewhere))).toEqual([])
  })

  for (const [code, [operation, provoke]] of Object.entries(provoked))
    test(`HO-04 ${code}: status and message of the catalogue, four members at most, documented where it occurs`, async () => {
      const { status, body, headers } = await provoke()
      const { status: expected, message } = problems[code as ProblemCode]
      const told = operation?.startsWith('oauth.') ? oauthErrorOf(code as ProblemCode).error : code
      if (operation?.startsWith('oauth.'))
        expect({ status, body }).toEqual({ status: expected, body: { error: told, error_description: message } })
      else {
        expect({ status, body }).toMatchObject({ status: expected, body: { code, message, correlation_id: headers.get('x-request-id') } })
        expect(Object.keys(body).filter((name) => !['code', 'message', 'correlation_id', 'details'].includes(name))).toEqual([])
      }
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      if (operation === null) return
      const { body: document } = await live.call(null, 'GET', '/openapi.json')
      const described = Object.values(document.paths as Record<string, Record<string, { operationId: string; responses: object }>>)
        .flatMap((methods) => Object.values(methods))
        .find(({ operationId }) => operationId === operation)!
      expect(described.responses).toMatchObject({ [status]: { description: expect.stringContaining(`\`${told}\``) } })
    })

  test('HO-04 a validation error has one entry per field and repeats nothing of what was sent', async () => {
    const sent = { name: 'hunter2\u0007', slug: 'HUNTER2', owner_user_id: 'hunter2', hunter: 2 }
    const { status, body, text } = await live.call('ada', 'POST', '/api/v1/orgs', { body: sent })
    expect(status).toBe(400)
    expect(body.details.map(({ in: part, field }: { in: string; field: string }) => `${part} ${field}`).sort()).toEqual([
      'body hunter',
      'body name',
      'body owner_user_id',
      'body slug',
    ])
    expect(text.toLowerCase()).not.toContain('hunter2')
    const missing = await live.call('ada', 'POST', '/api/v1/orgs')
    expect(missing.body.details.map(({ field }: { field: string }) => field).sort()).toEqual(['name', 'owner_user_id', 'slug'])
  })

  test('HO-04 whoever sends no id is told that one is wanted, alike in path, query, body and header', async () => {
    const wanted = (part: string, field: string) => ({ in: part, field, message: 'must be an id (a UUID)' })
    const founded = (id: string) => live.call('ada', 'POST', '/api/v1/orgs', { body: { name: 'One', slug: 'one', owner_user_id: id } })
    const wrong = ['x', project.aurora.slice(1), `${project.aurora}0`, 'z'.repeat(36), '']
    for (const id of wrong) expect((await founded(id)).body.details).toEqual([wanted('body', 'owner_user_id')])
    const inPath = await live.call('amara', 'GET', '/api/v1/projects/x')
    expect(inPath.body.details).toEqual([wanted('path', 'project_id')])
    const inQuery = await live.call('ada', 'GET', '/api/v1/admin/audit-logs?tenant_id=x')
    expect(inQuery.body.details).toEqual([wanted('query', 'tenant_id')])
    const inHeader = await live.call('amara', 'GET', training, { headers: { 'x-project-id': 'x' } })
    expect(inHeader.body.details).toEqual([wanted('header', 'x-project-id')])
  })

  test('HO-04 a refusal inside the own tenant says its reason code, and an unknown token scheme is told from none', async () => {
    const refused = await live.call('anna', 'PATCH', aurora, { body: { name: 'Mine' } })
    expect(refused.body.details).toEqual({ reason_code: 'permission_denied' })
    expect((await live.call(null, 'GET', '/api/v1/me')).headers.get('www-authenticate')).toBe('Bearer')
    const basic = await live.call(null, 'GET', '/api/v1/me', { headers: { authorization: 'Basic YTpi' } })
    expect(basic).toMatchObject({ status: 401, body: { code: 'token_invalid' } })
  })
})

describe('the correlation id', () => {
  const kinds: [string, (headers: Record<string, string>) => Promise<Answered>][] = [
    ['200', (headers) => live.call('anna', 'GET', '/api/v1/me', { headers })],
    ['400', (headers) => live.call('anna', 'GET', '/api/v1/orgs?limit=x', { headers })],
    ['400 of a malformed address', (headers) => live.call('anna', 'GET', '/api/v1/orgs/%zz', { headers })],
    ['400 of an address too long', (headers) => live.call('anna', 'GET', `/api/v1/orgs/${'a'.repeat(300)}`, { headers })],
    ['401', (headers) => live.call(null, 'GET', '/api/v1/me', { headers })],
    ['403', (headers) => live.call('anna', 'PATCH', aurora, { body: { name: 'n' }, headers })],
    ['404', (headers) => live.call('anna', 'GET', `/api/v1/orgs/${nobody}`, { headers })],
    ['404 of a route', (headers) => live.call(null, 'GET', '/nowhere', { headers })],
    ['413', (headers) => live.call('alice', 'PATCH', aurora, { raw: padded(limit + 1), headers })],
    ['415', (headers) => live.call('alice', 'PATCH', aurora, { raw: 'x', headers: { ...headers, 'content-type': 'text/plain' } })],
    ['document', (headers) => live.call(null, 'GET', '/openapi.json', { headers })],
    ['docs', (headers) => live.call(null, 'GET', '/docs', { headers })],
    ['health', (headers) => live.call(null, 'GET', '/healthz', { headers })],
  ]
  const both = ({ headers }: Answered) => [headers.get('x-request-id'), headers.get('x-correlation-id')]

  for (const [kind, ask] of kinds)
    test(`AU-03 HO-04 is echoed in both headers of a ${kind}, made where none or no good one came`, async () => {
      const given = 'Az09._:-'.repeat(16)
      const kept = await ask({ 'x-request-id': given })
      expect(both(kept)).toEqual([given, given])
      if (kept.status >= 400) expect(kept.body.correlation_id).toBe(given)
      expect(both(await ask({ 'x-correlation-id': 'alias' }))).toEqual(['alias', 'alias'])
      expect(both(await ask({ 'x-request-id': 'first', 'x-correlation-id': 'second' }))).toEqual(['first', 'first'])
      const seen = new Set<string>()
      for (const malformed of [undefined, '', 'a b', 'a'.repeat(129), 'ä', '<script>', 'a,b', '../x', "a';--"]) {
        const answer = await ask(malformed === undefined ? {} : { 'x-request-id': malformed })
        const [id, alias] = both(answer)
        expect(id).toMatch(uuid)
        expect(alias).toBe(id)
        seen.add(id!)
      }
      expect(seen.size).toBe(9)
    })

  test('AU-03 a malformed first is not rescued by the second', async () => {
    const answer = await live.call('anna', 'GET', '/api/v1/me', { headers: { 'x-request-id': 'a b', 'x-correlation-id': 'good' } })
    expect(both(answer)[0]).toMatch(uuid)
  })

  test.for([
    ['431', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['400', 'nonsense\r\n\r\n'],
    ['400', 'GET /healthz HTTP/1.1\r\nX-Request-Id: a\r\n\r\n'],
  ])('AU-03 HO-04 is in both headers of a %s that never became a request', async ([status, bytes]) => {
    const { text, statuses } = await rawExchange(live.url, [bytes!], { wait_ms: 300 })
    expect(statuses).toEqual([Number(status)])
    const id = /x-request-id: ([\w-]+)/.exec(text)![1]
    expect(text).toContain(`x-correlation-id: ${id}`)
    expect(text).toContain(`"correlation_id":"${id}"`)
  })

  test('AU-03 stands on the record of a change and of a refusal, also where it was made here', async () => {
    for (const headers of [{ 'x-request-id': 'recorded-1' }, { 'x-correlation-id': 'recorded-2' }, { 'x-request-id': 'not good' }]) {
      const changed = await live.call('alice', 'PATCH', aurora, { body: { name: 'Aurora' }, headers: headers as Record<string, string> })
      expect(await live.auditOf(both(changed)[0]!)).toMatchObject([{ action: 'organization.update', result: 'success' }])
    }
    const refused = await live.call('anna', 'PATCH', aurora, { body: { name: 'n' }, headers: { 'x-request-id': 'recorded-3' } })
    expect(refused.status).toBe(403)
    expect(await live.auditOf('recorded-3')).toMatchObject([{ action: 'organization.update', result: 'denied' }])
  })

  test('AU-03 stands on the line of the log', async () => {
    const lines: string[] = []
    const broken = await live.replica((parts) => ({
      ...parts,
      logger: { level: 'info', stream: { write: (line: string) => lines.push(line) } } as never,
      identify: async () => {
        throw new Error('broken on purpose')
      },
    }))
    const failed = await live.call('anna', 'GET', '/api/v1/me', { headers: { 'x-request-id': 'logged-1' } }, broken.url)
    expect(failed).toMatchObject({ status: 500, body: { code: 'internal_error', correlation_id: 'logged-1' } })
    expect(failed.text).not.toContain('on purpose')
    const line = lines.map((each) => JSON.parse(each)).find(({ level }) => level === 50)
    expect(line).toMatchObject({ correlation_id: 'logged-1', code: 'internal_error', err: { message: 'broken on purpose' } })
  })
})

/** Machines have lists of their own, which are proved where those are. */
const isPeoplesList = ({ operation: { is_paged, actors } }: (typeof rightfulCalls)[number]) => is_paged && actors.includes('user')

describe('lists', () => {
  const page = (person: string, query: string, path = '/api/v1/admin/users') => live.call(person, 'GET', `${path}?${query}`)
  beforeAll(async () => {
    await live.sql(`insert into users (id, username, oidc_issuer, oidc_subject, created_at)
      select gen_random_uuid(), 'crowd-' || n, 'https://crowd.example', 'crowd-' || n, now() from generate_series(1, 210) n`)
  })

  test('HO-04 limit is 1 to 200, 50 if not given, and every list is a page', async () => {
    expect((await page('ada', '')).body.items).toHaveLength(50)
    for (const size of [1, 2, 200]) expect((await page('ada', `limit=${size}`)).body.items).toHaveLength(size)
    for (const wrong of [
      '0',
      '201',
      '-1',
      '1.5',
      'abc',
      '',
      'NaN',
      '1e9',
      '[]',
      '5&limit=6',
      '99999999999999999999',
      'Infinity',
      '-Infinity',
      '1e999',
      '1e2',
      '0x10',
      '05',
      '+5',
      ' 5',
    ]) {
      const refused = await page('ada', `limit=${wrong}`)
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_error', details: [{ in: 'query', field: 'limit' }] } })
    }
    for (const { operation, person, params, query = '' } of rightfulCalls.filter(isPeoplesList)) {
      const { status, body } = await page(person, `limit=200&${query}`, pathOf(operation.path, params))
      expect(status).toBe(200)
      expect(Object.keys(body)).toEqual(['items', 'next_cursor'])
      if (body.items.length < 200) expect(body.next_cursor).toBeNull()
    }
  })

  test('HO-04 the order is stable: whoever pages while rows are added sees each old row once and no row twice', async () => {
    const before = await live.sql<{ id: string }>('select id from users order by id')
    const seen: string[] = []
    let cursor = ''
    for (let round = 0; ; round += 1) {
      const { body } = await page('ada', `limit=23${cursor}`)
      seen.push(...body.items.map(({ id }: { id: string }) => id))
      if (body.next_cursor === null) break
      cursor = `&cursor=${body.next_cursor}`
      await live.sql(
        `insert into users (id, username, oidc_issuer, oidc_subject, created_at)
         select gen_random_uuid(), 'late', 'https://late.example', $1 || '-' || n, now() from generate_series(1, 5) n`,
        [`${round}`],
      )
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual([...seen].sort())
    expect(before.filter(({ id }) => !seen.includes(id))).toEqual([])
    expect(seen.length).toBeGreaterThan(before.length)
  })

  test('HO-04 a cursor fits its caller, operation and path only; the page may change its size', async () => {
    const { body } = await page('ada', 'limit=3')
    const cursor = `cursor=${body.next_cursor}`
    const invalid = { status: 400, body: { code: 'cursor_invalid' } }
    expect((await page('ada', `limit=7&${cursor}`)).body.items).toHaveLength(7)
    expect(await page('grace', `limit=3&${cursor}`)).toMatchObject(invalid)
    expect(await page('ada', cursor, '/api/v1/orgs')).toMatchObject(invalid)
    const members = (id: string) => `/api/v1/orgs/${id}/members`
    const own = await page('ada', 'limit=2', members(org.aurora))
    expect(own.body.next_cursor).not.toBeNull()
    expect((await page('ada', `cursor=${own.body.next_cursor}`, members(org.aurora))).status).toBe(200)
    expect((await page('ada', `cursor=${own.body.next_cursor}`, members(org.aurora.toUpperCase()))).status).toBe(200)
    expect(await page('ada', `cursor=${own.body.next_cursor}`, members(org.borealis))).toMatchObject(invalid)
  })

  test('HO-04 a cursor changed in any one place, or of another key, is refused; another process with the same key opens it', async () => {
    const { body } = await page('ada', 'limit=3')
    const cursor: string = body.next_cursor
    const last = body.items.at(-1).id
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain(last.slice(0, 8))
    for (let at = 0; at < cursor.length; at += 1) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`
      expect(await page('ada', `cursor=${changed}`)).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
    }
    for (const wrong of ['%00', 'a b', `${cursor}=`, `${cursor}%0a`, 'x'.repeat(2049), `${cursor}&cursor=${cursor}`])
      expect((await page('ada', `cursor=${wrong}`)).status).toBe(400)
    const path = `/api/v1/admin/users?limit=3&cursor=${cursor}`
    const same = await live.replica()
    expect((await live.call('ada', 'GET', path, {}, same.url)).status).toBe(200)
    const other = await live.replica({ cursors: sealedCursors(new Secret('other'.padEnd(48, 'k'))) })
    expect(await live.call('ada', 'GET', path, {}, other.url)).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
  })
})

describe('fields', () => {
  const assigned = ['is_builtin', 'id', 'state', 'created_by', 'deleted_at', 'actor_type', 'expires_at', 'type', 'disabled_at']

  for (const { operation, person, params, body } of rightfulCalls)
    test(`HO-04 ${operation.id} refuses unknown members and names them`, async () => {
      const path = pathOf(operation.path, params)
      const bearer = bearerFor(operation, person)
      const inQuery = await live.call(bearer, operation.method, `${path}?surprise=1&sort=id`, sendingOf(operation, body))
      if (operation.speaks === 'oauth') {
        const error_description = 'surprise is not known here; sort is not known here'
        expect(inQuery).toMatchObject({ status: 400, body: { error: 'invalid_request', error_description } })
        // In a form they are not looked at, as OAuth wants it.
        const inForm = await live.call(null, operation.method, path, sendingOf(operation, { ...body, surprise: 1, expires_at: 'x' }))
        expect(inForm.status).toBe(operation.success)
        return
      }
      expect(inQuery).toMatchObject({ status: 400, body: { code: 'validation_error' } })
      expect(inQuery.body.details).toEqual([
        { in: 'query', field: 'surprise', message: 'is not known here' },
        { in: 'query', field: 'sort', message: 'is not known here' },
      ])
      if (!body) return
      // What one operation assigns by itself, another one may let the caller say.
      const { properties = {} } = operation.body as { properties?: object }
      for (const field of ['surprise', ...assigned.filter((each) => !Object.hasOwn(properties, each))]) {
        const refused = await live.call(person, operation.method, path, { body: { ...body, [field]: true } })
        expect(refused).toMatchObject({
          status: 400,
          body: { code: 'validation_error', details: [{ in: 'body', field, message: 'is not known here' }] },
        })
      }
    })

  const idFields = ({ properties = {} }: { properties?: Record<string, { pattern?: string }> }) =>
    Object.entries(properties).flatMap(([name, { pattern }]) => (pattern === uuidPattern ? [name] : []))
  const noUuids = ['x', '0', `${nobody}0`, nobody.slice(1), nobody.replaceAll('-', ''), `{${nobody}}`, `${nobody} `, "1' or '1'='1", 'null']

  for (const { operation, person, params, body } of rightfulCalls)
    for (const [part, names] of [
      ['path', idFields(operation.params)],
      ['body', idFields(operation.body ?? {})],
    ] as const)
      for (const field of names)
        test(`HO-04 ${operation.id} refuses a ${field} in the ${part} that is no UUID`, async () => {
          for (const wrong of noUuids) {
            const changed =
              part === 'path' ? { params: { ...params, [field]: wrong }, body } : { params, body: { ...body, [field]: wrong } }
            const sending = changed.body ? { body: changed.body } : {}
            const refused = await live.call(person, operation.method, pathOf(operation.path, changed.params), sending)
            expect(refused).toMatchObject({ status: 400, body: { code: 'validation_error', details: [{ in: part, field }] } })
          }
        })

  test('HO-04 an id in capitals is the same id, in a path and in a body, and is kept in one spelling', async () => {
    const read = await live.call('anna', 'GET', `/api/v1/orgs/${org.aurora.toUpperCase()}`)
    expect(read).toMatchObject({ status: 200, body: { id: org.aurora } })
    const added = await live.call('amara', 'POST', `${training.toUpperCase().replace('/API/V1/PROJECTS', '/api/v1/projects')}/members`, {
      body: { user_id: user('adam').toUpperCase(), role_name: 'project_viewer' },
      headers: { 'x-request-id': 'capitals' },
    })
    expect(added).toMatchObject({ status: 201, body: { user_id: user('adam') } })
    expect(await live.auditOf('capitals')).toMatchObject([{ resource_id: user('adam'), metadata: { user_id: user('adam') } }])
    const other = { body: { name: 'x', slug: slug() }, headers: { 'x-project-id': project.aurora.toUpperCase() } }
    expect((await live.call('alice', 'POST', `${aurora}/projects`, other)).status).toBe(201)
  })

  test('HO-04 an id in capitals is no way round the question whether it is your own', async () => {
    const mine = { name: 'Mine', slug: slug(), owner_user_id: user('ada').toUpperCase() }
    const refused = { status: 403, body: { details: { detail: 'override_self_grant' } } }
    expect(await live.call('ada', 'POST', '/api/v1/orgs', { body: mine })).toMatchObject(refused)
    const join = { user_id: user('ada').toUpperCase(), role_name: 'project_viewer' }
    expect(await live.call('ada', 'POST', `${training}/members`, { body: join })).toMatchObject(refused)
  })

  test('HO-04 text is bounded in code points after it was brought to its NFC form', async () => {
    const rename = (name: string) => live.call('alice', 'PATCH', aurora, { body: { name } })
    expect(await rename('😀'.repeat(100))).toMatchObject({ status: 200, body: { name: '😀'.repeat(100) } })
    expect((await rename('😀'.repeat(101))).status).toBe(400)
    expect(await rename('e\u0301'.repeat(100))).toMatchObject({ status: 200, body: { name: '\u00e9'.repeat(100) } })
    expect((await rename('e\u0301'.repeat(101))).status).toBe(400)
    expect((await live.call('alice', 'GET', aurora)).body.name).toBe('\u00e9'.repeat(100))
    for (const wrong of ['', ' ', '\u3000', 'a\nb', 'a\u0007', '\u0085', 'a\u009bb']) expect((await rename(wrong)).status).toBe(400)
  })

  test('HO-04 times are RFC 3339 in UTC with milliseconds', async () => {
    const { body } = await live.call('alice', 'GET', aurora)
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(new Date(body.created_at).toISOString()).toBe(body.created_at)
    const since = (from: string) => live.call('alice', 'GET', `${aurora}/audit-logs?from=${encodeURIComponent(from)}`)
    expect((await since('2024-02-29T23:59:59.999Z')).status).toBe(200)
    const wrong = ['2023-02-29T00:00:00.000Z', '2024-13-01T00:00:00.000Z', '2024-01-01T24:00:00.000Z', '0000-01-01T00:00:00.000Z']
    for (const from of [...wrong, '2024-01-01T00:00:00Z', '2024-01-01T00:00:00.000+01:00', '2024-01-01', 'now', '1'])
      expect(await since(from)).toMatchObject({
        status: 400,
        body: { code: 'validation_error', details: [{ in: 'query', field: 'from' }] },
      })
  })

  test('HO-04 X-Project-ID must be a UUID and agree with the path', async () => {
    const read = (id: string) => live.call('amara', 'GET', training, { headers: { 'x-project-id': id } })
    expect((await read(project.aurora)).status).toBe(200)
    expect((await read(project.aurora.toUpperCase())).status).toBe(200)
    const refused = { status: 400, body: { code: 'validation_error', details: [{ in: 'header', field: 'x-project-id' }] } }
    for (const wrong of [project.borealis, nobody, 'x', '', `${project.aurora},${project.aurora}`])
      expect(await read(wrong)).toMatchObject(refused)
  })
})

describe('bodies', () => {
  const send = (raw: string | Uint8Array, headers: Record<string, string> = {}) => live.call('alice', 'PATCH', aurora, { raw, headers })

  test('HO-04 a body of exactly 256 KiB is read, one byte more is not', async () => {
    expect((await send(padded(limit))).status).toBe(200)
    expect(await send(padded(limit + 1))).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    const token = await live.tokenOf('alice')
    const chunked = (length: number) =>
      rawExchange(live.url, [
        `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`,
        `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${padded(length)}\r\n0\r\n\r\n`,
      ])
    expect((await chunked(limit)).statuses).toEqual([200])
    expect((await chunked(limit + 1)).statuses).toEqual([413])
  })

  test('HO-04 only JSON in UTF-8, not compressed, is a body', async () => {
    const body = JSON.stringify({ name: 'Typed' })
    const right = [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON;charset=UTF-8',
      'application/json; charset="utf-8"',
    ]
    for (const type of right) expect((await send(body, { 'content-type': type })).status).toBe(200)
    const wrong = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'application/jsonx',
      'application/merge-patch+json',
      'text/json',
      'application/json, text/plain',
      'json',
    ]
    for (const type of wrong)
      expect(await send(body, { 'content-type': type })).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, identity', 'chunked'])
      expect((await send(body, { 'content-encoding': encoding })).status).toBe(415)
    const { statuses } = await rawExchange(live.url, [
      `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${await live.tokenOf('alice')}\r\n`,
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    ])
    expect(statuses).toEqual([415])
  })

  test.for(['Bearer', 'Bearer ', 'Bearer  two', 'Bearer a b', 'Bearer ü', 'Bearer\ta', 'Basic YTpi', 'Bearera.b.c', 'DPoP a"b'])(
    'T1 an authorization that is none of ours is no token: %j',
    async (authorization) => {
      const { status, body } = await live.call(null, 'GET', '/api/v1/me', { headers: { authorization } })
      expect([status, body.code]).toEqual([401, 'token_invalid'])
    },
  )

  test('HO-04 who has no body to give is not asked for its type', async () => {
    expect((await live.call('alice', 'GET', aurora, { headers: { 'content-type': 'text/plain' } })).status).toBe(200)
    const gone = await live.call('amara', 'DELETE', `${training}/members/${user('asha')}`)
    expect(gone.status).toBe(204)
    expect(gone.text).toBe('')
  })
})

describe('headers of every answer', () => {
  const kinds: [string, () => Promise<Answered>][] = [
    ['an answer', () => live.call('anna', 'GET', '/api/v1/me')],
    ['a refusal', () => live.call(null, 'GET', '/api/v1/me')],
    ['a missing route', () => live.call(null, 'GET', '/nowhere')],
    ['a malformed address', () => live.call(null, 'GET', '/api/v1/orgs/%zz')],
    ['the document', () => live.call(null, 'GET', '/openapi.json')],
    ['the docs', () => live.call(null, 'GET', '/docs')],
    ['a script of the docs', () => live.call(null, 'GET', '/docs/static/swagger-ui.css')],
    ['health', () => live.call(null, 'GET', '/healthz')],
    ['readiness', () => live.call(null, 'GET', '/readyz')],
  ]
  for (const [kind, ask] of kinds)
    test(`HO-04 ${kind} is guarded and not kept`, async () => {
      const { headers } = await ask()
      // A file of the docs is the same for everybody; it is looked up anew each time.
      expect(headers.get('cache-control')).toMatch(/script/.test(kind) ? /no-store|max-age=0/ : /no-store/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('strict-transport-security')).toMatch(/max-age=\d{7,}/)
      const policy = headers.get('content-security-policy')!
      expect(policy).toMatch(/default-src '(?:none|self)'/)
      expect(policy).toMatch(/frame-ancestors '(?:none|self)'/)
      expect(policy).not.toMatch(/unsafe-inline|unsafe-eval/)
      for (const name of ['server', 'x-powered-by', 'access-control-allow-origin']) expect(headers.get(name)).toBeNull()
    })

  test('HO-04 what never became a request is guarded too', async () => {
    const { text } = await rawExchange(live.url, ['nonsense\r\n\r\n'])
    for (const name of ['cache-control: no-store', 'x-content-type-options: nosniff', 'content-security-policy: ', 'connection: close'])
      expect(text).toContain(name)
  })

  test('HO-04 the docs are a page, which no other window keeps hold of, and the document is OpenAPI 3.1', async () => {
    const { headers } = await live.call(null, 'GET', '/docs')
    expect(headers.get('content-type')).toContain('text/html')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect((await live.call(null, 'GET', '/openapi.json')).body.openapi).toBe('3.1.0')
  })
})

describe('what may not be known', () => {
  const foreign: Record<string, string> = {
    org_id: org.borealis,
    project_id: project.borealis,
    user_id: user('bella'),
    owner_user_id: user('bella'),
    tenant_id: org.borealis,
    constraint_id: constraintOf('foreign'),
    role_id: roleOf('foreign'),
    binding_id: bindingOf('foreign'),
    principal_id: user('bella'),
    invitation_id: invitationOf('foreign'),
    service_account_id: serviceAccountOf('foreign'),
    key_id: keyOf('foreign'),
    resource_id: serviceAccountOf('foreign'),
    actor_id: serviceAccountOf('foreign'),
    token_id: tokenOf('foreign'),
    allocation_id: allocationOf('foreign'),
    grant_id: grantOf('foreign'),
    ssh_key_id: sshKeyOf('foreign'),
    grantee_user_id: user('bella'),
    node_id: nodeOf('retire'),
    shared_runtime_id: runtimeOf('foreign'),
    attachment_id: attachmentOf('foreign'),
    credential_id: keyOf('foreign'),
  }
  /** Of the kind that the operation asks for. */
  const foreignOf = ({ id }: { readonly id: string }, field: string): string => {
    if (id === 'shared_runtime.credential.revoke' && field === 'credential_id') return credentialOf('foreign')
    return field === 'key_id' && id.includes('operator') ? operatorKeyOf('foreign') : foreign[field]!
  }
  const ids = (schema: { properties?: Record<string, { pattern?: string }> } | undefined) =>
    Object.entries(schema?.properties ?? {}).flatMap(([name, { pattern }]) => (pattern === uuidPattern ? [name] : []))
  const state = async () => {
    const tables = await live.sql<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' and tablename not in ('audit_logs', 'audit_heads', 'idempotency_keys')`,
    )
    const hashes: Record<string, unknown> = {}
    for (const { name } of tables)
      [hashes[name]] = await live.sql(`select md5(string_agg(t::text, '' order by t::text)) as md5 from "${name}" t`)
    return hashes
  }
  const bytesOf = ({ text, headers }: Answered, correlation_id: string) =>
    [text, ...[...headers].filter(([name]) => name !== 'date').map(([name, value]) => `${name}: ${value}`)]
      .join('\n')
      .replaceAll(correlation_id, '')

  const sweep = rightfulCalls.flatMap(({ operation, ...call }) => [
    ...ids(operation.params).map((field) => ({ operation, ...call, part: 'path', field })),
    ...ids(operation.body).map((field) => ({ operation, ...call, part: 'body', field })),
    ...ids(operation.query).map((field) => ({ operation, ...call, part: 'query', field })),
  ])

  test('AU-05 the sweep holds every operation that takes an id', () => {
    const taking = operations
      .filter(({ listener }) => listener === 'api')
      .filter(({ path, body, query }) => /:\w+_id\b/.test(path) || ids(body).length + ids(query).length > 0)
      .map(({ id }) => id)
    expect([...new Set(sweep.map(({ operation }) => operation.id))].sort()).toEqual(taking.sort())
    expect(sweep.filter(({ field }) => !(field in foreign))).toEqual([])
  })

  for (const { operation, person, params, body, actor_id, one_of, part, field } of sweep)
    test(`AU-05 HO-04 ${operation.id}: a foreign ${field} in the ${part} and an unknown one give the same bytes and one record`, async () => {
      // Somebody of one tenant; where only the platform may act, whoever knows most in his tenant.
      const caller = ['ada', 'grace', 'otto'].includes(person) ? 'alice' : person
      const others = one_of?.includes(field) ? Object.fromEntries(Object.entries(body!).filter(([name]) => !one_of.includes(name))) : body
      const ask = async (id: string) => {
        const correlation_id = `sweep-${newId('correlation')}`
        const path = pathOf(operation.path, part === 'path' ? { ...params, [field]: id } : params)
        const sending = {
          headers: { 'x-request-id': correlation_id },
          ...(body ? { body: part === 'body' ? { ...others, [field]: id } : body } : {}),
        }
        const answer = await live.call(caller, operation.method, part === 'query' ? `${path}?${field}=${id}` : path, sending)
        const rows = await live.auditOf(correlation_id)
        return { answer, rows, bytes: bytesOf(answer, correlation_id) }
      }
      const before = await state()
      const strange = await ask(foreignOf(operation, field))
      const unknown = await ask(nobody)
      expect(strange.bytes).toBe(unknown.bytes)
      expect(strange.answer.status).toBeGreaterThanOrEqual(400)
      expect(strange.answer.status).toBeLessThan(500)
      expect(strange.answer.text).not.toContain(foreignOf(operation, field))
      for (const { answer, rows } of [strange, unknown])
        if (answer.status === 403 || answer.status === 404) {
          const action = operation.identified_by === 'credential' ? 'auth.token.deny' : operation.id
          expect(rows).toMatchObject([{ result: 'denied', action, actor_id: actor_id ?? user(caller), severity: 'warning' }])
          expect(rows[0]!.reason_code).toBeTruthy()
        } else expect(rows).toEqual([])
      expect(await state()).toEqual(before)
    })

  test('the sweep can fail: an own id and an unknown one do not give the same bytes', async () => {
    const read = (id: string) => live.call('anna', 'GET', `/api/v1/orgs/${id}`, { headers: { 'x-request-id': 'same' } })
    const [own, unknown] = [await read(org.aurora), await read(nobody)]
    expect(bytesOf(own, 'same')).not.toBe(bytesOf(unknown, 'same'))
  })
})
