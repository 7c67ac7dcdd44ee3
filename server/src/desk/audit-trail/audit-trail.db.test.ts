import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyAuditLogs } from '@gatehouse/contract/audit-logs'
import { addProjectMember } from '@gatehouse/contract/members'
import { operations } from '@gatehouse/contract/operations'
import { readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { expect, test } from 'vitest'
import { accessStage } from '../../../../test/access-stage.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { actorClasses, sentences } from '../../rooms.ts'
import { sentencesWith } from './sentence.ts'

const { sentenceOf, toldActions } = sentencesWith(sentences, actorClasses)

const { org, project, user } = seeded

/** Every action that the product's own code records, found where it is written. */
const recordedActions = (): string[] => {
  const files = readdirSync('server/src', { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  return files.flatMap((file) =>
    [...readFileSync(join('server/src', file), 'utf8').matchAll(/action: '([a-z_]+(?:\.[a-z_]+)+)'/g)].map(([, action]) => action!),
  )
}
const live = serverFixture({}, async (live) => {
  await live.ask('alice', updateOrganization, {
    params: { org_id: org.aurora },
    body: { name: 'Aurora' },
    headers: { 'x-request-id': 'rename-1' },
  })
  await live.ask('anna', updateOrganization, {
    params: { org_id: org.aurora },
    body: { name: 'X' },
    headers: { 'x-request-id': 'refused-1' },
  })
  await live.ask('bella', updateOrganization, { params: { org_id: org.borealis }, body: { name: 'Borealis' } })
  await live.ask('amara', addProjectMember, {
    params: { project_id: project.aurora },
    body: { user_id: user('anna'), role_name: 'project_viewer' },
  })
  await live.ask('anna', readOrganization, { params: { org_id: org.borealis }, headers: { 'x-request-id': 'across-1' } })
})

const logs = (person: string, path: string, query = '') => live.call(person, 'GET', `/api/v1/${path}/audit-logs${query}`)
const tenants = (items: { tenant_id: string | null }[]) => new Set(items.map(({ tenant_id }) => tenant_id))

test('MI-06 X1 what another tenant’s record names is, as a filter, like what no record names', async () => {
  const { body: theirs } = await logs('bella', `orgs/${org.borealis}`, '?limit=1')
  const { actor_id, resource_id, correlation_id } = theirs.items[0]
  const nothing = (await logs('adam', `orgs/${org.aurora}`, '?actor_id=0190aaaa-0000-7000-8000-00000000ffff')).text
  expect(JSON.parse(nothing).items).toEqual([])
  for (const [name, id] of Object.entries({ actor_id, resource_id, correlation_id })) {
    expect((await logs('bella', `orgs/${org.borealis}`, `?${name}=${id}`)).body.items.length).toBeGreaterThan(0)
    expect((await logs('adam', `orgs/${org.aurora}`, `?${name}=${id}`)).text).toBe(nothing)
  }
})

test('AU-04 a tenant auditor sees his tenant only, newest first, and never what crossed tenants', async () => {
  const { status, body } = await logs('adam', `orgs/${org.aurora}`, '?limit=200')
  expect(status).toBe(200)
  expect([...tenants(body.items)]).toEqual([org.aurora])
  const ids = body.items.map(({ id }: { id: string }) => id)
  expect(ids).toEqual([...ids].sort().reverse())
  expect(JSON.stringify(body)).not.toContain('across-1')
  expect((await logs('adam', `orgs/${org.borealis}`)).status).toBe(404)
  expect((await logs('anna', `orgs/${org.aurora}`)).body.details.reason_code).toBe('permission_denied')
})

test('AU-04 a project auditor sees the rows of his project', async () => {
  const { body } = await logs('aldo', `projects/${project.aurora}`, '?limit=200')
  expect(body.items.map(({ action }: { action: string }) => action)).toContain('project.member.add')
  expect(new Set(body.items.map(({ project_id }: { project_id: string }) => project_id))).toEqual(new Set([project.aurora]))
  expect((await logs('asha', `projects/${project.aurora}`)).status).toBe(403)
})

test('AU-04 the platform log needs platform.audit.read and shows everything', async () => {
  for (const person of ['otto', 'ada']) {
    const { status, body } = await logs(person, 'admin', '?limit=200')
    expect(status).toBe(200)
    expect(tenants(body.items)).toEqual(new Set([null, org.aurora, org.borealis]))
  }
  expect((await logs('alice', 'admin')).status).toBe(403)
  expect([...tenants((await logs('otto', 'admin', `?tenant_id=${org.borealis}`)).body.items)]).toEqual([org.borealis])
})

test('AU-04 every filter narrows to the rows it names', async () => {
  const all = (await logs('adam', `orgs/${org.aurora}`, '?limit=200')).body.items
  const middle = all[Math.floor(all.length / 2)].occurred_at
  const rows: [string, (row: Record<string, string>) => boolean][] = [
    [`actor_id=${user('alice')}`, (row) => row.actor_id === user('alice')],
    ['actor_type=system', (row) => row.actor_type === 'system'],
    ['action=organization.update', (row) => row.action === 'organization.update'],
    ['result=denied', (row) => row.result === 'denied'],
    ['severity=warning', (row) => row.severity === 'warning'],
    ['correlation_id=rename-1', (row) => row.correlation_id === 'rename-1'],
    ['resource_type=organization', (row) => row.resource_type === 'organization'],
    [`resource_id=${org.aurora}`, (row) => row.resource_id === org.aurora],
    [`from=${middle}`, (row) => row.occurred_at! >= middle],
    [`to=${middle}`, (row) => row.occurred_at! < middle],
  ]
  const known = new Set(all.map(({ id }: { id: string }) => id))
  for (const [query, matches] of rows) {
    const { body } = await logs('adam', `orgs/${org.aurora}`, `?limit=200&${query}`)
    const found = body.items.filter(({ id }: { id: string }) => known.has(id)).map(({ id }: { id: string }) => id)
    const expected = all.filter(matches).map(({ id }: { id: string }) => id)
    expect(expected.length, query).toBeGreaterThan(0)
    expect(found, query).toEqual(expected)
  }
})

test('AU-04 JSON Lines export holds the same rows, a line each, and goes on by its cursor', async () => {
  const listed = (await logs('adam', `orgs/${org.aurora}`, '?limit=200&action=organization.update')).body.items
  const exported = await logs('adam', `orgs/${org.aurora}`, '?format=jsonl&action=organization.update')
  expect(exported.headers.get('content-type')).toBe('application/x-ndjson')
  expect(exported.text.endsWith('\n')).toBe(true)
  expect(
    exported.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(listed)
  expect(exported.headers.get('x-next-cursor')).toBeNull()
  const lines: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await logs(
      'adam',
      `orgs/${org.aurora}`,
      `?format=jsonl&limit=1&action=organization.update${cursor && `&cursor=${cursor}`}`,
    )
    expect(page.text.match(/\n/g)).toHaveLength(1)
    lines.push(
      ...page.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    )
    cursor = page.headers.get('x-next-cursor')
  }
  expect(lines).toEqual(listed)
})

test('AU-01 reading the record is itself recorded, with what was asked', async () => {
  const read = await logs('adam', `orgs/${org.aurora}`, '?result=denied')
  const [row] = await live.auditOf(read.headers.get('x-request-id')!)
  expect(row).toMatchObject({
    action: 'audit_log.list_of_organization',
    tenant_id: org.aurora,
    result: 'success',
    metadata: { filter: { result: 'denied' } },
  })
})

test('every action is told in a sentence, refused or done, and hostile names stay text', () => {
  for (const { id, effect, recorded_as } of operations)
    if (effect !== 'read') for (const action of recorded_as) expect(toldActions, id).toContain(action)
  for (const action of recordedActions()) expect(toldActions, action).toContain(action)
  const row = {
    action: 'project.member.add',
    actor_type: 'user',
    actor_id: 'u',
    actor_name: 'alice',
    resource_type: 'project_membership',
    resource_id: 'm',
    result: 'success',
    reason_code: null,
    metadata: { user_id: '{role_name}', role_name: '<script>' },
  } as const
  expect(sentenceOf(row)).toBe('alice (user u) added {role_name} to the project as <script>: project_membership m.')
  expect(sentenceOf({ ...row, result: 'denied', reason_code: 'permission_denied' })).toBe(
    'alice (user u) was refused project.member.add on project_membership m: permission_denied.',
  )
})

test('SG-13 that a grant was changed is told otherwise than that it was made', () => {
  const row = {
    action: 'allocation.access_grant.create',
    actor_type: 'user',
    actor_id: 'u',
    actor_name: 'asha',
    resource_type: 'access_grant',
    resource_id: 'g',
    result: 'success',
    reason_code: null,
    metadata: { grantee_user_id: 'axel', fingerprint: 'SHA256:x' },
  } as const
  expect(sentenceOf(row)).toBe('asha (user u) let axel in with the key SHA256:x: access_grant g.')
  expect(sentenceOf({ ...row, metadata: { ...row.metadata, updated: true } })).toBe(
    'asha (user u) changed until when and why axel is let in with the key SHA256:x: access_grant g.',
  )
})

test('MI-08 a report that was not taken is told as one that was ignored', () => {
  const row = {
    action: 'shared_runtime.status.report',
    actor_type: 'shared_runtime_operator',
    actor_id: 'r',
    actor_name: null,
    resource_type: 'shared_runtime',
    resource_id: 'r',
    result: 'success',
    reason_code: null,
    metadata: { display_name: 'slurm', state: 'running', sequence: 7, members: 3, is_taken: true },
  } as const
  const members = { ...row, action: 'shared_runtime.members.report' }
  const late = { ...row.metadata, is_taken: false }
  const who = 'Somebody (shared_runtime_operator r)'
  expect([row, { ...row, metadata: late }, members, { ...members, metadata: late }].map(sentenceOf)).toEqual([
    `${who} reported the runtime slurm as running (report 7): shared_runtime r.`,
    `${who} reported the runtime slurm as running (report 7), too late to count: shared_runtime r.`,
    `${who} reported 3 members of the runtime slurm (report 7): shared_runtime r.`,
    `${who} reported 3 members of the runtime slurm (report 7), too late to count: shared_runtime r.`,
  ])
})

test('MI-11 what is recorded to be refused is told in its own words; a refused operation in those of all', () => {
  const row = {
    action: 'delivery.unwrap',
    actor_type: 'shared_runtime_operator',
    actor_id: 'r',
    actor_name: null,
    resource_type: 'delivery',
    resource_id: 'd',
    result: 'denied',
    reason_code: 'delivery_not_found',
    metadata: { name: 'registry', version: 2, why: 'opened_before' },
  } as const
  const who = 'Somebody (shared_runtime_operator r)'
  expect(sentenceOf(row)).toBe(`${who} tried to open a delivery of version 2 of registry, and got nothing (opened_before): delivery d.`)
  expect(sentenceOf({ ...row, metadata: {} })).toBe(`${who} was refused delivery.unwrap on delivery d: delivery_not_found.`)
  expect(sentenceOf({ ...row, action: 'auth.token.deny', metadata: { why: 'scope' } })).toBe(
    `${who} asked for a token and got none (scope): delivery d.`,
  )
})

test('AU-01 what a node does is told of the node: by its name to the platform, by its id to tenants', async () => {
  const stage = await accessStage(live, {}, { name: 'gpu-told' })
  await stage.allocation('asha')
  stage.stop()
  const told = async (person: string, path: string) =>
    (await logs(person, path, '?actor_type=node_agent&action=allocation.activate')).body.items[0].sentence
  expect(await told('otto', 'admin')).toMatch(new RegExp(`^The node gpu-told \\(${stage.node.id}\\) opened the allocation: `))
  expect(await told('adam', `orgs/${org.aurora}`)).toMatch(new RegExp(`^The node ${stage.node.id} opened the allocation: `))
  expect((await logs('otto', 'admin', '?action=node.enrol')).body.items[0].sentence).toMatch(/^The node gpu-told /)
})

test('AU-02 the endpoint names tenant and row, only for those who may read the platform log', async () => {
  expect((await live.ask('alice', verifyAuditLogs)).status).toBe(403)
  expect((await live.ask('otto', verifyAuditLogs)).body).toMatchObject({ faults: [], chains: 3 })
  await live.sql("update audit_logs set action = 'x' where correlation_id = 'rename-1'")
  const found = await live.ask('otto', verifyAuditLogs, { headers: { 'x-request-id': 'verify-1' } })
  const [{ seq }] = (await live.sql("select seq::int from audit_logs where correlation_id = 'rename-1'")) as [{ seq: number }]
  expect(found.body.faults).toMatchObject([{ tenant_id: org.aurora, first_bad_seq: seq, kind: 'altered' }])
  expect(await live.auditOf('verify-1')).toMatchObject([{ action: 'audit_log.verify', severity: 'high' }])
})
