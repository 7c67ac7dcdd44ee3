import { operation } from '@gatehouse/contract/operation'
import { readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { createProject, readProject } from '@gatehouse/contract/projects'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { organizationKind } from '#people/tenancy/organization.ts'
import { findOrganization } from '#people/tenancy/organization-queries.ts'
import { insertProject } from '#people/tenancy/project-queries.ts'
import { type LiveServer, liveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { record } from '../audit/record.ts'
import { authorize, systemProof } from '../authz/authorize.ts'
import { type Answer, answer } from './answer.ts'
import type { ServerParts } from './server.ts'

const { org, project } = seeded
const body = { name: 'Forgotten', slug: 'forgotten' }

/** The product with one verb replaced by one that forgets something. */
const withVerb = (replacement: Answer) => (parts: ServerParts) => ({
  ...parts,
  answers: parts.answers.map((each) => (each.operation.id === replacement.operation.id ? replacement : each)),
})

const forgetful = {
  decision: answer(createProject, async (work, { params }) => {
    const proof = systemProof('first_sign_in', 'tenant.project.create', { id: params.org_id })
    const made = await work.tx.one(insertProject(proof, { id: newId('project'), ...body }, null, work.now))
    record(work, { action: 'project.create', resource_type: 'project', resource_id: made.id })
    return made
  }),
  resource: answer(readProject, async (work) => {
    // The right action, judged on another project than the one in the path.
    const other = await work.tx.maybe(findOrganization(org.aurora))
    await authorize(work, 'project.read', organizationKind, other)
    return { id: project.borealis, org_id: org.borealis, name: 'x', slug: 'x', state: 'active', created_at: work.now } as never
  }),
  act: answer(createProject, async (work, { params }) => {
    const found = await authorize(work, 'tenant.project.create', organizationKind, await work.tx.maybe(findOrganization(params.org_id)))
    const made = await work.tx.one(insertProject(found, { id: newId('project'), ...body }, null, work.now))
    record(work, { action: 'project.update', resource_type: 'project', resource_id: made.id })
    return made
  }),
  event: answer(createProject, async (work, { params }) => {
    const found = await authorize(work, 'tenant.project.create', organizationKind, await work.tx.maybe(findOrganization(params.org_id)))
    return work.tx.one(insertProject(found, { id: newId('project'), ...body }, null, work.now))
  }),
}

const forgottenProjects = (live: LiveServer) => live.sql("select id from projects where slug = 'forgotten'")

describe('a verb that forgets', () => {
  const cases = [
    ['HO-05 the decision', forgetful.decision, 'POST', `/api/v1/orgs/${org.aurora}/projects`],
    ['HO-05 the event', forgetful.event, 'POST', `/api/v1/orgs/${org.aurora}/projects`],
    ['AU-08 under which action its refusals are recorded', forgetful.act, 'POST', `/api/v1/orgs/${org.aurora}/projects`],
    ['HO-05 to ask about its own resource', forgetful.resource, 'GET', `/api/v1/projects/${project.borealis}`],
  ] as const
  for (const [title, verb, method, path] of cases)
    test(`${title} gets a 500 and a rollback`, async () => {
      const live = await liveServer(withVerb(verb))
      try {
        const rowsBefore = await live.sql('select count(*)::int from audit_logs')
        const answered = await live.call('alice', method, path, method === 'POST' ? { body } : {})
        expect(answered).toMatchObject({ status: 500, body: { code: 'internal_error' } })
        expect(Object.keys(answered.body).sort()).toEqual(['code', 'correlation_id', 'message'])
        expect(await forgottenProjects(live)).toEqual([])
        expect(await live.sql('select count(*)::int from audit_logs')).toEqual(rowsBefore)
      } finally {
        await live.stop()
      }
    })
})

describe('an operation that does not say enough does not start', () => {
  const declared = {
    id: 'test.open',
    method: 'GET',
    path: '/api/v1/test',
    summary: 'Test.',
    actors: ['user'],
    action: 'me.read',
    effect: 'read',
    reply: Exactly({ ok: Type.Boolean() }),
    problems: [],
  } as const
  const cases = [
    ['actors', { ...declared, actors: [] }, 'declares no actors'],
    ['an action', { ...declared, action: [] }, 'declares no action'],
    ['a registered action', { ...declared, action: 'me.fly' }, 'which the registry does not have'],
    ['problems', { ...declared, problems: undefined }, 'declares no problems'],
  ] as const
  for (const [what, given, sentence] of cases)
    test(`HO-05 without ${what}`, async () => {
      const open = { operation: operation(given as never), verb: async () => ({ ok: true }) } as unknown as Answer
      await expect(liveServer((parts) => ({ ...parts, answers: [...parts.answers, open] }))).rejects.toThrow(sentence)
    })
})

describe('the audit row is part of the change', () => {
  const live = serverFixture()

  const breakAudit = () =>
    live.sql(`create function refuse_audit() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
              create trigger refuse_audit before insert on audit_logs for each row execute function refuse_audit()`)
  const mendAudit = () => live.sql('drop trigger refuse_audit on audit_logs; drop function refuse_audit')

  test('HO-05 an audit row that cannot be written is a 503 and a rollback, and nobody is told the database text', async () => {
    await breakAudit()
    const made = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body })
    expect(made).toMatchObject({ status: 503, body: { code: 'dependency_unavailable' } })
    expect(made.text).not.toContain('no room')
    expect(made.headers.get('retry-after')).toBe('1')
    expect(await forgottenProjects(live)).toEqual([])
    // A refusal that cannot be recorded is not told either.
    expect((await live.ask('alice', readOrganization, { params: { org_id: org.borealis } })).status).toBe(503)
    await mendAudit()
    expect((await live.ask('alice', createProject, { params: { org_id: org.aurora }, body })).status).toBe(201)
  })

  test('HO-05 a change that fails leaves no row that claims it', async () => {
    const id = 'failed-change'
    const again = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body, headers: { 'x-request-id': id } })
    expect(again).toMatchObject({ status: 409, body: { code: 'project_already_exists' } })
    expect(await live.auditOf(id)).toEqual([])
  })

  test('AU-05 a refusal is one row: in the own tenant with its reason, across tenants in the platform log', async () => {
    const inside = await live.ask('anna', updateOrganization, {
      params: { org_id: org.aurora },
      body: { name: 'X' },
      headers: { 'x-request-id': 'inside' },
    })
    expect(inside).toMatchObject({ status: 403, body: { code: 'insufficient_permissions', details: { reason_code: 'permission_denied' } } })
    expect(await live.auditOf('inside')).toMatchObject([
      {
        action: 'organization.update',
        result: 'denied',
        reason_code: 'permission_denied',
        tenant_id: org.aurora,
        actor_id: seeded.user('anna'),
        resource_type: 'organization',
        resource_id: org.aurora,
        resource_name: `gpuaas:test:${org.aurora}:-:iam/organization:${org.aurora}`,
        platform_role: 'platform_user',
        severity: 'warning',
      },
    ])
    const across = await live.ask('anna', readOrganization, { params: { org_id: org.borealis }, headers: { 'x-request-id': 'across' } })
    expect(across).toMatchObject({ status: 404, body: { code: 'organization_not_found' } })
    expect(across.body.details).toBeUndefined()
    expect(await live.auditOf('across')).toMatchObject([{ result: 'denied', reason_code: 'membership_missing', tenant_id: null }])
  })

  test('AU-05 a caller with a platform role may know what exists, and is told why not', async () => {
    const read = await live.ask('otto', readOrganization, { params: { org_id: org.borealis } })
    expect(read).toMatchObject({ status: 403, body: { details: { reason_code: 'membership_missing' } } })
    expect((await live.ask('otto', readOrganization, { params: { org_id: '01890000-0000-7000-8000-000000000000' } })).status).toBe(404)
  })
})
