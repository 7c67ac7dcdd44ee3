import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { renewCertificate } from '@gatehouse/contract/nodes'
import { expect, test } from 'vitest'
import { enrolledNode, nodeKeys } from '../../../../test/enrolled-node.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { runtimesOn } from '../../../../test/runtime-scene.ts'

const { org, project } = seeded
const live = serverFixture()

let asked = 0
/** The rows of one request, by what they say of who asked. */
const rowsOf = async (request: (headers: Record<string, string>) => Promise<unknown>) => {
  asked += 1
  const correlation_id = `machine-${asked}`
  await request({ 'x-request-id': correlation_id })
  return live.auditOf(correlation_id)
}

test('AU-09 service account: issuance, change and refusal → rows name key and token, and no platform role', async () => {
  const machine = await machineWithSecret(live)
  const { service_account_id: actor_id, key_id: credential_id } = machine
  let token = ''
  let jti = ''
  const issued = await rowsOf(async (headers) => {
    const { body } = await machine.ask({}, headers)
    token = body.access_token
    jti = body.credential_session_id
  })
  expect(issued).toMatchObject([{ action: 'auth.token.issue', actor_id, credential_id, jti, platform_role: null }])
  const by = (method: string, path: string, body?: object) =>
    rowsOf((headers) =>
      live.call(null, method, path, { ...(body ? { body } : {}), headers: { ...headers, authorization: `Bearer ${token}` } }),
    )
  const of_token = { actor_id, credential_id, jti, platform_role: null }
  const made = { project_id: project.aurora, name: 'a run', region: 'nowhere', sku: 'h100', gpus: 1 }
  expect(await by('POST', '/api/v1/allocations', made)).toMatchObject([{ ...of_token, result: 'success' }])
  expect(await by('GET', `/api/v1/orgs/${org.aurora}/members`)).toMatchObject([{ ...of_token, result: 'denied' }])

  // Where no token was shown, the credential alone is named.
  const denied = await rowsOf((headers) => machine.ask({ audience: 'elsewhere' }, headers))
  expect(denied).toMatchObject([{ action: 'auth.token.deny', actor_id, credential_id, jti: null, platform_role: null }])
  const basic = `Basic ${btoa(`${credential_id}:${machine.client_secret}`)}`
  const revoked = await rowsOf((headers) =>
    live.call(null, 'POST', '/oauth2/revoke', {
      raw: `token=${token}`,
      headers: { ...headers, authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
    }),
  )
  expect(revoked).toMatchObject([{ action: 'auth.token.revoke', actor_id, credential_id, jti: null, platform_role: null }])

  // What one key, or one token, has done can be asked for.
  const rows = async (query: object) =>
    (await live.ask('adam', listOrganizationAuditLogs, { params: { org_id: org.aurora }, query })).body.items
  const of_key = await rows({ credential_id })
  expect(of_key.length).toBe(5)
  expect(await rows({ jti })).toEqual(of_key.filter((row) => row.jti === jti))
  expect((await rows({ jti })).map(({ action }) => action)).toContain('auth.token.issue')
})

test('AU-09 operator of a shared runtime: read and refusal → rows name credential and token, and no platform role', async () => {
  const runtimes = runtimesOn(live)
  const id = await runtimes.made()
  const token = await runtimes.tokenOf(id)
  const [credential] = await live.sql<{ credential_id: string; id: string }>('select * from issued_tokens where actor_id = $1', [id])
  const of_token = { actor_id: id, credential_id: credential!.credential_id, jti: credential!.id, platform_role: null }
  expect(await rowsOf((headers) => runtimes.operate(id, 'GET', '', undefined, { headers, token }))).toMatchObject([
    { ...of_token, result: 'success' },
  ])
  expect(await rowsOf((headers) => runtimes.operate(id, 'DELETE', '', { reason: 'because' }, { headers, token }))).toMatchObject([
    { ...of_token, result: 'denied' },
  ])
})

test('AU-09 node: enrolment, change and refusal → rows name enrolment or certificate, and no platform role', async () => {
  const node = await enrolledNode(live)
  const [certificate] = await live.sql<{ serial: string; enrolment_id: string }>('select * from node_certificates where node_id = $1', [
    node.id,
  ])
  const enrolled = await live.sql("select * from audit_logs where action = 'node.enrol' and actor_id = $1", [node.id])
  expect(enrolled).toMatchObject([{ credential_id: certificate!.enrolment_id, jti: null, platform_role: null }])
  const of_certificate = { actor_id: node.id, credential_id: certificate!.serial, jti: null, platform_role: null }
  const foreign = await rowsOf((headers) => node.call('GET', `/internal/v1/nodes/${project.aurora}/tasks/wait`, undefined, headers))
  expect(foreign).toMatchObject([{ ...of_certificate, result: 'denied' }])
  const { csr } = await nodeKeys()
  const renewed = await rowsOf((headers) => node.ask(renewCertificate, { params: { node_id: node.id }, body: { csr }, headers }))
  expect(renewed).toMatchObject([{ ...of_certificate, result: 'success' }])
  node.stop()
})

test('AU-09 person: any request → rows name no credential and no token', async () => {
  const rows = await live.sql("select * from audit_logs where actor_type in ('user', 'system')")
  expect(rows.length).toBeGreaterThan(0)
  for (const row of rows) if (row.action !== 'auth.token.issue') expect(row).toMatchObject({ credential_id: null, jti: null })
})
