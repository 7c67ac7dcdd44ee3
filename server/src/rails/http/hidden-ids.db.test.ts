import { operations } from '@gatehouse/contract/operations'
import { readOrganization } from '@gatehouse/contract/organizations'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { grantOf } from '../../../../test/fuzz/access-grant-calls.ts'
import { allocationOf } from '../../../../test/fuzz/allocation-calls.ts'
import { nodeOf } from '../../../../test/fuzz/node-calls.ts'
import { operatorKeyOf } from '../../../../test/fuzz/operator-credential-calls.ts'
import {
  bindingOf,
  constraintOf,
  invitationOf,
  keyOf,
  pathOf,
  rightfulCalls,
  roleOf,
  serviceAccountOf,
  sshKeyOf,
  tokenOf,
} from '../../../../test/fuzz/rightful-calls.ts'
import { attachmentOf, credentialOf, runtimeOf } from '../../../../test/fuzz/shared-runtime-calls.ts'
import { writeTargets } from '../../../../test/fuzz/write-targets.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { tableHashes } from '../../../../test/matrix/table-hashes.ts'
import { sweep } from '../../../../test/sweep.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, (live) =>
  writeTargets(live.sql),
)

const { org, project, user } = seeded
const nobody = '01890000-0000-7000-8000-000000000000'

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
  const state = () => tableHashes(live, ['audit_logs', 'audit_heads', 'idempotency_keys'])
  const bytesOf = ({ text, headers }: Answered, correlation_id: string) =>
    [text, ...[...headers].filter(([name]) => name !== 'date').map(([name, value]) => `${name}: ${value}`)]
      .join('\n')
      .replaceAll(correlation_id, '')

  const places = rightfulCalls.flatMap(({ operation, ...call }) => [
    ...ids(operation.params).map((field) => ({ operation, ...call, part: 'path', field })),
    ...ids(operation.body).map((field) => ({ operation, ...call, part: 'body', field })),
    ...ids(operation.query).map((field) => ({ operation, ...call, part: 'query', field })),
  ])

  test('AU-05 the sweep holds every operation that takes an id', () => {
    const taking = operations
      .filter(({ listener }) => listener === 'api')
      .filter(({ path, body, query }) => /:\w+_id\b/.test(path) || ids(body).length + ids(query).length > 0)
      .map(({ id }) => id)
    expect([...new Set(places.map(({ operation }) => operation.id))].sort()).toEqual(taking.sort())
    expect(places.filter(({ field }) => !(field in foreign))).toEqual([])
  })

  for (const { operation, person, params, body, actor_id, one_of, part, field } of sweep('hidden ids', places, 80))
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
          const action = operation.identified_by === 'credential' ? 'auth.token.deny' : operation.recorded_as[0]
          expect(rows).toMatchObject([{ result: 'denied', action, actor_id: actor_id ?? user(caller), severity: 'warning' }])
          expect(rows[0]!.reason_code).toBeTruthy()
        } else expect(rows).toEqual([])
      expect(await state()).toEqual(before)
    })

  test('the sweep can fail: an own id and an unknown one do not give the same bytes', async () => {
    const read = (id: string) => live.ask('anna', readOrganization, { params: { org_id: id }, headers: { 'x-request-id': 'same' } })
    const [own, unknown] = [await read(org.aurora), await read(nobody)]
    expect(bytesOf(own, 'same')).not.toBe(bytesOf(unknown, 'same'))
  })
})
