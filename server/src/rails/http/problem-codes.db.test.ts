import { createAccessGrant, revokeAccessGrant } from '@gatehouse/contract/access-grants'
import { createAllocation, readAllocation, releaseAllocation, replaceAllocationSshKeys } from '@gatehouse/contract/allocations'
import { listPlatformAuditLogs } from '@gatehouse/contract/audit-logs'
import { readOrganizationConstraint } from '@gatehouse/contract/constraints'
import { endOrganizationInvitation } from '@gatehouse/contract/invitations'
import { addProjectMember, removeOrganizationMember } from '@gatehouse/contract/members'
import { readNode, revokeTaskSigner } from '@gatehouse/contract/nodes'
import { exchangeGrant, tokenTypes } from '@gatehouse/contract/oauth'
import { oauthErrorOf } from '@gatehouse/contract/oauth-errors'
import { revokeOperatorCredential } from '@gatehouse/contract/operator-credentials'
import { createOrganization, listOrganizations, readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { removeProjectPolicyValue, setOrganizationPolicyValue, setProjectPolicyValue } from '@gatehouse/contract/policies'
import { ProblemDetails } from '@gatehouse/contract/problem-details'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { readProject, restoreProject } from '@gatehouse/contract/projects'
import { createProjectBinding, endProjectBinding } from '@gatehouse/contract/role-bindings'
import { deleteOrganizationRole } from '@gatehouse/contract/roles'
import { createAttachment, readAttachment } from '@gatehouse/contract/runtime-attachments'
import { revokeRuntimeCredential, unwrapDelivery } from '@gatehouse/contract/runtime-credentials'
import { readServiceAccount, revokeServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { createSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { retireSigningKey } from '@gatehouse/contract/signing-keys'
import { createSshKey, deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { revokeTokens } from '@gatehouse/contract/tokens'
import { readMe, readUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { fixedId } from '#ground/kernel/ids.ts'
import { keyPair, proofOf } from '#machines/oauth/testing/signing.ts'
import { signText } from '#people/principals/oidc/testing/local-issuer.ts'
import type { BodyOf } from '../../../../test/ask.ts'
import { allocationOf } from '../../../../test/fuzz/allocation-calls.ts'
import { rightfulCalls, sendingOf, serviceAccountOf, sshKeyOf } from '../../../../test/fuzz/rightful-calls.ts'
import { runtimeOf } from '../../../../test/fuzz/shared-runtime-calls.ts'
import { writeTargets } from '../../../../test/fuzz/write-targets.ts'
import { type Answered, type LiveServer, noRateLimits, seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, (live) =>
  writeTargets(live.sql),
)

const { org, project, user } = seeded
const nobody = '01890000-0000-7000-8000-000000000000'
const aurora = `/api/v1/orgs/${org.aurora}`
const training = `/api/v1/projects/${project.aurora}`

const limit = 256 * 1024
const padded = (length: number) => JSON.stringify({ name: 'Padded' }).padEnd(length)

describe('errors', () => {
  const expired = async () => {
    const now = Math.floor(Date.now() / 1000)
    return signText(live.issuer.key, JSON.stringify(live.issuer.claims(now - 7200, { exp: now - 3600 })))
  }
  const letIn = (body: BodyOf<typeof createAccessGrant>) =>
    live.ask('asha', createAccessGrant, { params: { allocation_id: allocationOf('own') }, body })
  const constraints = `${aurora}/policies/constraints`
  const binding = { principal_type: 'user', principal_id: user('axel'), role_name: 'project_viewer' } as const
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
    cursor_invalid: ['organization.list', () => live.ask('alice', listOrganizations, { query: { cursor: 'AAAA' } })],
    unsupported_grant_type: ['oauth.token.issue', () => asked({ grant_type: 'password' })],
    invalid_scope: ['oauth.token.issue', () => asked({ scope: 'platform.admin' })],
    subject_token_invalid: [
      'oauth.token.issue',
      () => asked({ grant_type: exchangeGrant, subject_token: 'nobodys', subject_token_type: tokenTypes.jwt }),
    ],
    invalid_target: ['oauth.token.issue', () => asked({ audience: 'nobody' })],
    token_missing: ['me.read', () => live.ask(null, readMe)],
    token_invalid: ['me.read', () => live.ask(null, readMe, { headers: { authorization: 'Bearer nonsense' } })],
    token_expired: ['me.read', async () => live.ask(null, readMe, { headers: { authorization: `Bearer ${await expired()}` } })],
    proof_invalid: [
      'me.read',
      async () => {
        const { body } = await asked({}, { dpop: proofOf(keyPair(), { method: 'POST', url: `${tokenIssuer.url}/oauth2/token` }) })
        return live.ask(null, readMe, { headers: { authorization: `Bearer ${body.access_token}` } })
      },
    ],
    insufficient_permissions: [
      'organization.update',
      () => live.ask('anna', updateOrganization, { params: { org_id: org.aurora }, body: { name: 'Mine' } }),
    ],
    method_not_allowed: [null, () => live.call('anna', 'DELETE', '/api/v1/me')],
    route_not_found: [null, () => live.call('anna', 'GET', '/api/v1/nowhere')],
    access_grant_not_found: [
      'allocation.access_grant.revoke',
      () => live.ask('asha', revokeAccessGrant, { params: { allocation_id: allocationOf('own'), grant_id: nobody }, body: {} }),
    ],
    grantee_not_member: ['allocation.access_grant.create', () => letIn({ grantee_user_id: user('anna'), ssh_key_id: nobody })],
    ssh_key_not_personal: [
      'allocation.access_grant.create',
      () => letIn({ grantee_user_id: user('axel'), ssh_key_id: sshKeyOf('of_project') }),
    ],
    ssh_key_kind_not_allowed: [
      'allocation.access_grant.create',
      async () => {
        const key = 'access.required_key_kinds'
        const params = { project_id: project.aurora, key }
        await live.ask('alice', setProjectPolicyValue, { params, body: { value: 'security_key' } })
        const { body } = await live.ask('axel', createSshKey, { body: { name: 'plain', public_key: newKeyLine() } })
        return letIn({ grantee_user_id: user('axel'), ssh_key_id: body.id }).finally(() =>
          live.ask('alice', removeProjectPolicyValue, { params, body: {} }),
        )
      },
    ],
    allocation_not_found: ['allocation.read', () => live.ask('asha', readAllocation, { params: { allocation_id: nobody } })],
    allocation_not_active: [
      'allocation.ssh_keys.replace',
      async () => {
        const wish = { project_id: project.aurora, name: 'short', region: 'sweep', sku: 'sweep', gpus: 1 }
        const { body } = await live.ask('asha', createAllocation, { body: wish })
        await live.ask('asha', releaseAllocation, { params: { allocation_id: body.id }, body: {} })
        return live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: body.id }, body: { ssh_key_ids: [] } })
      },
    ],
    operator_credential_not_found: [
      'shared_runtime.operator_credential.revoke',
      () =>
        live.ask('adam', revokeOperatorCredential, {
          params: { org_id: org.aurora, shared_runtime_id: runtimeOf('own'), key_id: nobody },
          body: { reason: 'because' },
        }),
    ],
    attachment_not_found: [
      'shared_runtime.attachment.read',
      () =>
        live.ask('anna', readAttachment, { params: { org_id: org.aurora, shared_runtime_id: runtimeOf('own'), attachment_id: nobody } }),
    ],
    attachment_already_exists: [
      'shared_runtime.attachment.create',
      () =>
        live.ask('adam', createAttachment, {
          params: { org_id: org.aurora, shared_runtime_id: runtimeOf('own') },
          body: { project_id: project.aurora, contribution_policy: 'all' },
        }),
    ],
    runtime_credential_not_found: [
      'shared_runtime.credential.revoke',
      () =>
        live.ask('adam', revokeRuntimeCredential, {
          params: { org_id: org.aurora, shared_runtime_id: runtimeOf('own'), credential_id: nobody },
          body: { reason: 'r' },
        }),
    ],
    delivery_not_found: [
      'delivery.unwrap',
      async () => {
        const operator = await operatorWithSecret(live, runtimeOf('own'))
        const headers = { authorization: `Bearer ${await operator.token()}` }
        return live.ask(null, unwrapDelivery, { body: { wrapping_token: 'nobodys' }, headers })
      },
    ],
    shared_runtime_already_exists: [
      'shared_runtime.create',
      () =>
        live.ask('adam', createSharedRuntime, {
          params: { org_id: org.aurora },
          body: { app_slug: 'sweep', app_version: '1', display_name: 'Sweep own', runtime_backend: 'slurm' },
        }),
    ],
    shared_runtime_not_found: [
      'allocation.create',
      () =>
        live.ask('asha', createAllocation, {
          body: { project_id: project.aurora, name: 'tagged', region: 'sweep', sku: 'sweep', gpus: 1, shared_runtime_id: nobody },
        }),
    ],
    node_not_found: ['node.read', () => live.ask('otto', readNode, { params: { node_id: nobody } })],
    node_already_exists: [
      'node.create',
      () => twice('ada', 'POST', '/api/v1/admin/nodes', { body: { name: 'twice', region: 'nowhere', sku: 'sweep', gpus: 1 } }),
    ],
    signer_not_found: [
      'node.signer.revoke',
      () => live.ask('ada', revokeTaskSigner, { params: { kid: 'A'.repeat(43) }, body: { reason: 'x' } }),
    ],
    organization_not_found: ['organization.read', () => live.ask('anna', readOrganization, { params: { org_id: org.borealis } })],
    project_not_found: ['project.read', () => live.ask('anna', readProject, { params: { project_id: project.borealis } })],
    user_not_found: ['user.read', () => live.ask('ada', readUser, { params: { user_id: nobody } })],
    member_not_found: [
      'organization.member.remove',
      () => live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: nobody }, body: {} }),
    ],
    role_not_found: [
      'project.member.add',
      () =>
        live.ask('amara', addProjectMember, {
          params: { project_id: project.aurora },
          body: { user_id: user('anna'), role_name: 'no_such_role' },
        }),
    ],
    role_already_exists: [
      'role.create_of_organization',
      () => twice('alice', 'POST', `${aurora}/roles`, { body: { name: 'twice', permissions: ['tenant.read'] } }),
    ],
    role_immutable: [
      'role.delete_of_organization',
      () =>
        live.ask('alice', deleteOrganizationRole, {
          params: { org_id: org.aurora, role_id: fixedId('role', 'tenant_owner') },
          body: { reason: 'r' },
        }),
    ],
    role_not_assignable: [
      'role_binding.create_of_project',
      () =>
        live.ask('amara', createProjectBinding, {
          params: { project_id: project.aurora },
          body: { role_name: 'project_admin', principal_type: 'service_account', principal_id: serviceAccountOf('active') },
        }),
    ],
    binding_already_exists: [
      'role_binding.create_of_project',
      () => live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body: binding }),
    ],
    binding_not_found: [
      'role_binding.end_of_project',
      () => live.ask('amara', endProjectBinding, { params: { project_id: project.aurora, binding_id: nobody }, body: {} }),
    ],
    not_project_member: [
      'role_binding.create_of_project',
      () =>
        live.ask('amara', createProjectBinding, {
          params: { project_id: project.aurora },
          body: { ...binding, principal_id: user('anna') },
        }),
    ],
    service_account_not_found: [
      'service_account.read',
      () => live.ask('aldo', readServiceAccount, { params: { project_id: project.aurora, service_account_id: nobody } }),
    ],
    service_account_key_not_found: [
      'service_account.key.revoke',
      () =>
        live.ask('aldo', revokeServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: serviceAccountOf('active'), key_id: nobody },
          body: { reason: 'r' },
        }),
    ],
    service_account_already_exists: [
      'service_account.create',
      () => twice('aldo', 'POST', `${training}/service-accounts`, { body: { name: 'Twice', slug: 'twice' } }),
    ],
    policy_not_found: [
      'policy.value.set_of_organization',
      () => live.ask('alice', setOrganizationPolicyValue, { params: { org_id: org.aurora, key: 'no.such' }, body: { value: 1 } }),
    ],
    policy_out_of_bounds: [
      'policy.value.set_of_organization',
      () =>
        live.ask('alice', setOrganizationPolicyValue, {
          params: { org_id: org.aurora, key: 'tenancy.invitation_ttl_seconds' },
          body: { value: 1 },
        }),
    ],
    invalid_key: ['ssh_key.create', () => live.ask('asha', createSshKey, { body: { name: 'n', public_key: 'none' } })],
    ssh_key_not_found: ['ssh_key.delete', () => live.ask('asha', deleteSshKey, { params: { ssh_key_id: nobody }, body: {} })],
    ssh_key_already_exists: [
      'ssh_key.create',
      () => twice('asha', 'POST', '/api/v1/ssh-keys', { body: { name: 'n', public_key: newKeyLine() } }),
    ],
    version_conflict: [
      'policy.value.set_of_organization',
      () =>
        live.ask('alice', setOrganizationPolicyValue, {
          params: { org_id: org.aurora, key: 'tenancy.invitation_ttl_seconds' },
          body: { value: 7200, expected_version: 77 },
        }),
    ],
    signing_key_not_found: [
      'signing_key.retire',
      () => live.ask('ada', retireSigningKey, { params: { kid: 'no-such-key' }, body: { reason: 'test' } }),
    ],
    token_not_found: ['auth.token.revoke', () => live.ask('amara', revokeTokens, { body: { token_id: nobody } })],
    constraint_not_found: [
      'policy.constraint.read_of_organization',
      () => live.ask('alice', readOrganizationConstraint, { params: { org_id: org.aurora, constraint_id: nobody } }),
    ],
    constraint_already_exists: [
      'policy.constraint.create_of_organization',
      () => twice('alice', 'POST', constraints, { body: { key: 'twice', actions: ['allocation.create'], condition: {} } }),
    ],
    invitation_not_found: [
      'invitation.end_of_organization',
      () => live.ask('alice', endOrganizationInvitation, { params: { org_id: org.aurora, invitation_id: nobody }, body: {} }),
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
      () =>
        live.ask('amara', addProjectMember, {
          params: { project_id: project.aurora },
          body: { user_id: user('axel'), role_name: 'project_viewer' },
        }),
    ],
    last_owner: [
      'organization.member.remove',
      () => live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: user('alice') }, body: {} }),
    ],
    not_tenant_member: [
      'project.member.add',
      () =>
        live.ask('amara', addProjectMember, {
          params: { project_id: project.aurora },
          body: { user_id: user('bella'), role_name: 'project_viewer' },
        }),
    ],
    state_conflict: [
      'project.restore',
      () => live.ask('adam', restoreProject, { params: { project_id: project.aurora }, body: { reason: 'r' } }),
    ],
    body_too_large: ['organization.update', () => live.call('alice', 'PATCH', aurora, { raw: padded(limit + 1) })],
    unsupported_media_type: [
      'organization.update',
      () => live.call('alice', 'PATCH', aurora, { raw: '{}', headers: { 'content-type': 'text/plain' } }),
    ],
    idempotency_key_reused: [
      'organization.update',
      async () => {
        await live.ask('alice', updateOrganization, {
          params: { org_id: org.aurora },
          body: { name: 'One' },
          headers: { 'idempotency-key': 'reused' },
        })
        return live.ask('alice', updateOrganization, {
          params: { org_id: org.aurora },
          body: { name: 'Two' },
          headers: { 'idempotency-key': 'reused' },
        })
      },
    ],
  }
  /** Those that need a broken world, a clock or an operation that does not exist yet. */
  const elsewhere: Partial<Record<ProblemCode, string>> = {
    rate_limit_exceeded: 'rate.db.test.ts',
    policy_unavailable: 'rate.db.test.ts',
    request_timeout: 'slow-sockets.db.test.ts',
    headers_too_large: 'request-smuggling.db.test.ts',
    internal_error: 'invariants.db.test.ts',
    dependency_unavailable: 'invariants.db.test.ts',
    idempotency_in_progress: 'idempotency.db.test.ts',
    credential_already_issued: 'idempotency.db.test.ts',
    limit_reached: 'create-key.db.test.ts',
    invalid_csr: 'enrol-node.db.test.ts',
    certificate_missing: 'identify-node.db.test.ts',
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
        // One shape, whatever the code.
        expect(Object.keys(body.details ?? {}).filter((name) => !Object.hasOwn(ProblemDetails.properties, name))).toEqual([])
        expect(Array.isArray(body.details)).toBe(false)
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
    const { status, body, text } = await live.ask('ada', createOrganization, { body: sent })
    expect(status).toBe(400)
    expect(body.details!.fields!.map(({ in: part, field }) => `${part} ${field}`).sort()).toEqual([
      'body hunter',
      'body name',
      'body owner_user_id',
      'body slug',
    ])
    expect(text.toLowerCase()).not.toContain('hunter2')
    const missing = await live.call('ada', 'POST', '/api/v1/orgs')
    expect(missing.body.details.fields.map(({ field }: { field: string }) => field).sort()).toEqual(['name', 'owner_user_id', 'slug'])
  })

  test('HO-04 whoever sends no id is told that one is wanted, alike in path, query, body and header', async () => {
    const wanted = (part: string, field: string) => ({ in: part, field, message: 'must be an id (a UUID)' })
    const founded = (id: string) => live.ask('ada', createOrganization, { body: { name: 'One', slug: 'one', owner_user_id: id } })
    const wrong = ['x', project.aurora.slice(1), `${project.aurora}0`, 'z'.repeat(36), '']
    for (const id of wrong) expect((await founded(id)).body.details).toEqual({ fields: [wanted('body', 'owner_user_id')] })
    const inPath = await live.ask('amara', readProject, { params: { project_id: 'x' } })
    expect(inPath.body.details).toEqual({ fields: [wanted('path', 'project_id')] })
    const inQuery = await live.ask('ada', listPlatformAuditLogs, { query: { tenant_id: 'x' } })
    expect(inQuery.body.details).toEqual({ fields: [wanted('query', 'tenant_id')] })
    const inHeader = await live.ask('amara', readProject, { params: { project_id: project.aurora }, headers: { 'x-project-id': 'x' } })
    expect(inHeader.body.details).toEqual({ fields: [wanted('header', 'x-project-id')] })
  })

  test('HO-04 a refusal inside the own tenant says its reason code, and an unknown token scheme is told from none', async () => {
    const refused = await live.ask('anna', updateOrganization, { params: { org_id: org.aurora }, body: { name: 'Mine' } })
    expect(refused.body.details).toMatchObject({ reason_code: 'permission_denied' })
    expect((await live.ask(null, readMe)).headers.get('www-authenticate')).toBe('Bearer')
    const basic = await live.ask(null, readMe, { headers: { authorization: 'Basic YTpi' } })
    expect(basic).toMatchObject({ status: 401, body: { code: 'token_invalid' } })
  })
})
