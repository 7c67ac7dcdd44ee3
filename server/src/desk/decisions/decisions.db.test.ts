import { createProjectConstraint } from '@gatehouse/contract/constraints'
import { decide, decideBatch, explain as explainOperation } from '@gatehouse/contract/decisions'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { actions } from '#rails/authz/actions.ts'
import { roleIdOf } from '#rails/authz/catalogue.ts'
import type { BodyOf } from '../../../../test/ask.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture()

const { org, project, user } = seeded
const ask = (person: string, body: BodyOf<typeof decide>) => live.ask(person, decide, { body })
const explain = (person: string, body: BodyOf<typeof explainOperation>) => live.ask(person, explainOperation, { body })
const batch = (person: string, questions: BodyOf<typeof decideBatch>['questions']) => live.ask(person, decideBatch, { body: { questions } })
const inTenant = (tenant_id: string = org.aurora) => ({ type: 'organization', tenant_id })
const inProject = (project_id: string = project.aurora) => ({ type: 'allocation', project_id })
const about = (name: string) => ({ actor: { type: 'user', id: user(name) } }) as const

describe('one question', () => {
  test('DE-01 about oneself: the four members, the id, the revision and what decided', async () => {
    const { status, body } = await ask('alice', { action: 'tenant.update', resource: inTenant() })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      decision: 'allow',
      reason_code: null,
      applied_scope: 'tenant',
      policy_source: 'in_code',
      break_glass_id: null,
    })
    expect(body.decision_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(body.revision).toMatch(/^\d+\.\d+$/)
    expect(body.decided_by.bindings).toEqual([
      expect.objectContaining({
        scope: 'tenant',
        role_name: 'tenant_owner',
        version: 1,
        binding_id: expect.any(String),
        role_version_id: expect.any(String),
      }),
    ])
    expect(body.decided_by.constraint).toBeNull()
  })

  test('RP-07 a tenant role alone gives nothing in a project, to an owner either', async () => {
    const { body } = await ask('alice', { action: 'allocation.create', resource: inProject() })
    expect(body).toMatchObject({ decision: 'deny', reason_code: 'membership_missing', applied_scope: 'project' })
    expect(body.decided_by).toEqual({ bindings: [], constraint: null })
  })

  test('DE-06 override is named by the binding that gives it', async () => {
    const { body } = await ask('ada', { action: 'tenant.update', resource: inTenant() })
    expect(body).toMatchObject({
      decision: 'allow',
      applied_scope: 'global',
      decided_by: { bindings: [{ scope: 'global', role_name: 'platform_superadmin' }] },
    })
    const runtime = await ask('ada', { action: 'storage.read', resource: inProject() })
    expect(runtime.body).toMatchObject({ decision: 'deny', reason_code: 'membership_missing' })
  })

  test('DE-02 a project brings its tenant along, by its own id too', async () => {
    for (const resource of [inProject(), { type: 'project', id: project.aurora }, { ...inProject(), tenant_id: org.aurora }])
      expect((await ask('amara', { action: 'project.role.assign', resource })).body).toMatchObject({
        decision: 'allow',
        applied_scope: 'project',
      })
  })

  test('I5 what lies elsewhere than the question says, lies nowhere; a foreign id and an unknown one answer alike', async () => {
    const strange = [{ ...inProject(), tenant_id: org.borealis }, inProject(project.borealis), inProject(newId('project'))]
    const answers = await Promise.all(strange.map((resource) => ask('amara', { action: 'allocation.read', resource })))
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect({ ...body, decision_id: null, revision: null }).toEqual({ ...answers[0]!.body, decision_id: null, revision: null })
      expect(body).toMatchObject({ decision: 'deny', reason_code: 'membership_missing' })
    }
    const tenants = [inTenant(org.borealis), inTenant(newId('org'))]
    for (const resource of tenants)
      expect((await ask('alice', { action: 'tenant.read', resource })).body).toMatchObject({
        decision: 'deny',
        reason_code: 'membership_missing',
      })
  })

  test('DE-08 an action that the registry does not have is refused', async () => {
    for (const action of [
      'tenant.fly',
      'authorization.override.all',
      'tenant.*',
      '__proto__',
      'constructor.prototype',
      'tenant.rеad',
      'x'.repeat(200),
    ]) {
      const { status, body } = await ask('alice', { action, resource: inTenant() })
      expect([status, body.code], action).toEqual([400, 'validation_error'])
    }
  })

  test('DE-14 asking leaves no audit row, and a refusal to answer leaves one', async () => {
    const headers = { 'x-request-id': 'asked-and-answered' }
    await live.ask('alice', decide, { body: { action: 'tenant.read', resource: inTenant() }, headers })
    expect(await live.auditOf('asked-and-answered')).toEqual([])
    const refused = { 'x-request-id': 'asked-and-refused' }
    const body = { ...about('bruno'), action: 'tenant.read', resource: inTenant(org.borealis) }
    expect((await live.ask('alice', decide, { body, headers: refused })).status).toBe(404)
    expect(await live.auditOf('asked-and-refused')).toEqual([expect.objectContaining({ action: 'authz.decide', result: 'denied' })])
  })

  test('AU-08 decisions: a question that may not be asked → the row names the place, and the thing only as asked', async () => {
    const thing = newId('allocation')
    const theirs = { type: 'allocation', id: thing, project_id: project.borealis }
    const inOrganization = { type: 'bucket', id: thing, tenant_id: org.borealis }
    const rowOf = async ({ method, path }: Pick<typeof decide, 'method' | 'path'>, body: object) => {
      const correlation_id = newId('correlation')
      const { status } = await live.call('alice', method, path, { body, headers: { 'x-request-id': correlation_id } })
      const [row] = await live.auditOf(correlation_id)
      const { resource_type, resource_id, metadata } = row as {
        resource_type: string
        resource_id: string
        metadata: Record<string, unknown>
      }
      return { status, resource_type, resource_id, ...metadata }
    }
    const about_bruno = { ...about('bruno'), action: 'storage.read' }
    const project_row = { status: 404, resource_type: 'project', resource_id: project.borealis }
    for (const operation of [decide, explainOperation])
      expect(await rowOf(operation, { ...about_bruno, resource: theirs })).toMatchObject({
        ...project_row,
        asked_resource_id: thing,
        asked_resource_project_id: project.borealis,
        asked_actor_id: user('bruno'),
      })
    expect(await rowOf(decideBatch, { questions: [{ ...about_bruno, resource: theirs }] })).toMatchObject({
      ...project_row,
      asked_questions_resource_id: [thing],
      asked_questions_resource_project_id: [project.borealis],
    })
    expect(await rowOf(decide, { ...about_bruno, action: 'tenant.read', resource: inOrganization })).toMatchObject({
      ...{ status: 404, resource_type: 'organization', resource_id: org.borealis },
      ...{ asked_resource_id: thing, asked_resource_tenant_id: org.borealis },
    })
    // Nowhere in particular: what is missing is a right of the platform.
    expect(await rowOf(decide, { ...about_bruno, action: 'platform.admin', resource: { type: 'user', id: user('bruno') } })).toMatchObject({
      ...{ resource_type: 'platform', resource_id: 'platform', asked_resource_id: user('bruno') },
    })
  })
})

describe('about somebody else', () => {
  test('needs the right to read roles there', async () => {
    const question = { ...about('alice'), action: 'tenant.update', resource: inTenant() }
    expect((await ask('anna', question)).body).toMatchObject({
      decision: 'allow',
      decided_by: { bindings: [{ role_name: 'tenant_owner' }] },
    })
    const { status, body } = await ask('arne', question)
    expect([status, body.details?.reason_code]).toEqual([403, 'permission_denied'])
    expect((await ask('bella', question)).status).toBe(404)
  })

  test('a stranger, somebody disabled elsewhere and somebody who does not exist answer alike', async () => {
    await live.sql(`update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where id = $1`, [user('bjorn')])
    const answers = await Promise.all(
      [user('bruno'), user('bjorn'), newId('user')].map((id) =>
        ask('anna', { actor: { type: 'user', id }, action: 'tenant.read', resource: inTenant() }),
      ),
    )
    for (const { body } of answers) expect({ ...body, decision_id: null }).toEqual({ ...answers[0]!.body, decision_id: null })
    expect(answers[0]!.body).toMatchObject({ decision: 'deny', reason_code: 'membership_missing' })
    const known = await ask('ada', { actor: { type: 'user', id: user('bjorn') }, action: 'tenant.read', resource: inTenant() })
    expect(known.body.reason_code).toBe('actor_disabled')
    await live.sql(`update users set disabled_at = null, disabled_by = null, disable_reason = null where id = $1`, [user('bjorn')])
  })

  test('platform actions are asked about with the platform key alone', async () => {
    const question = { ...about('ada'), action: 'platform.admin', resource: { type: 'platform' } }
    expect((await ask('alice', question)).status).toBe(403)
    expect((await ask('ada', { ...question, ...about('alice') })).body).toMatchObject({
      decision: 'deny',
      reason_code: 'permission_denied',
      applied_scope: 'global',
    })
  })

  test('DE-14 of the roles of a tier only who may read them is told, also where a project is named', async () => {
    await live.sql(`update tenant_role_bindings set deleted_at = now(), delete_reason = 'test' where principal_id = $1`, [user('axel')])
    const question = { ...about('alice'), action: 'tenant.update', resource: { type: 'project', id: project.aurora } }
    expect((await ask('axel', question)).body.details?.reason_code).toBe('permission_denied')
    expect((await ask('axel', { ...question, action: 'allocation.read' })).status).toBe(200)
    await live.sql(`update tenant_role_bindings set deleted_at = null, delete_reason = null where principal_id = $1`, [user('axel')])
    expect((await ask('axel', question)).body.decision).toBe('allow')
  })
})

test('I5 the revision says nothing of a tenant of strangers: neither that there is one nor that it changed', async () => {
  const revisions = async () => {
    const strange = [inTenant(org.borealis), inTenant(newId('org')), inProject(project.borealis), inProject(newId('project'))]
    const single = await Promise.all(strange.map((resource) => ask('asha', { action: 'project.read', resource })))
    const together = await batch(
      'asha',
      strange.map((resource) => ({ action: 'project.read', resource })),
    )
    return new Set([...single, together].map(({ body }) => body.revision))
  }
  const before = await revisions()
  expect(before.size).toBe(1)
  await live.sql(`update organizations set name = name || '!' where id = $1`, [org.borealis])
  expect(await revisions()).toEqual(before)
})

describe('a batch', () => {
  test('DE-02 AU-05 a batch with a question that may not be asked → refused, and told which one; an absent place and a foreign one alike', async () => {
    const fine = { action: 'tenant.read', resource: { type: 'organization', id: org.aurora } }
    const about = (id: string) => ({ ...fine, actor: { type: 'user', id: user('bella') }, resource: { type: 'organization', id } })
    const refusal = async (questions: object[], person = 'alice') => {
      const { status, body } = await batch(person, questions as never)
      const { code, details } = body as unknown as { code: string; details: unknown }
      return { status, code, details }
    }
    const hidden = { status: 404, code: 'organization_not_found', details: { question: 2 } }
    expect(await refusal([fine, fine, about(org.borealis), about(org.borealis)])).toEqual(hidden)
    expect(await refusal([fine, fine, about(newId('org'))])).toEqual(hidden)
    expect(await refusal([fine, about(org.aurora)], 'abel')).toMatchObject({
      ...{ status: 403, code: 'insufficient_permissions' },
      details: { reason_code: 'permission_denied', question: 1 },
    })
    // One that is not a question at all is named by its field.
    expect(await refusal([fine, { ...fine, action: 'no.such' }])).toMatchObject({
      status: 400,
      details: { fields: [{ field: 'questions/1/action' }] },
    })
  })

  test('DE-02 equals asking singly, in its order, at one revision', async () => {
    const questions = [
      { action: 'tenant.update', resource: inTenant() },
      { action: 'allocation.create', resource: inProject() },
      { ...about('amara'), action: 'tenant.read', resource: inTenant() },
      { action: 'tenant.read', resource: inTenant(org.borealis) },
      { action: 'platform.admin', resource: { type: 'platform' } },
    ]
    const together = await batch('alice', questions)
    expect(together.status).toBe(200)
    expect(together.body.decisions).toHaveLength(questions.length)
    for (const [index, question] of questions.entries()) {
      const { revision: _revision, ...single } = (await ask('alice', question)).body
      expect({ ...together.body.decisions[index], decision_id: null }).toEqual({ ...single, decision_id: null })
    }
    expect(together.body.revision).toMatch(/^\d+\.\d+$/)
  })

  test('DE-08 HO-04 where an action is none, the question is named as where it is not even spelt like one', async () => {
    const refused = async (action: string) => {
      const { status, body } = await batch('alice', [
        { action: 'tenant.read', resource: inTenant() },
        { action, resource: inTenant() },
      ])
      return [status, body.details!.fields!.map(({ field }) => field)]
    }
    for (const action of ['__proto__', 'constructor.prototype', 'tenant.fly'])
      expect([action, ...(await refused(action))]).toEqual([action, 400, ['questions/1/action']])
  })

  test('holds 1 to 100 questions', async () => {
    const one = { action: 'tenant.read', resource: inTenant() }
    expect((await batch('alice', [])).status).toBe(400)
    expect((await batch('alice', Array(101).fill(one))).status).toBe(400)
    expect((await batch('alice', Array(100).fill(one))).body.decisions).toHaveLength(100)
  })
})

describe('explain', () => {
  test('DE-14 tells the same decision with its steps and what is missing', async () => {
    const question = { action: 'allocation.create', resource: inProject() }
    const { body } = await explain('alice', question)
    const decided = (await ask('alice', question)).body
    expect(body).toMatchObject({ ...decided, decision_id: expect.any(String) })
    expect(body.steps.map(({ step, outcome }: { step: string; outcome: string }) => `${step} ${outcome}`)).toEqual([
      'actor passed',
      'token passed',
      'override passed',
      'elevation passed',
      'membership denied',
    ])
    expect(body.missing.join(' ')).toContain('project_member')
    expect(body.roles).toEqual([expect.objectContaining({ scope: 'tenant', role_name: 'tenant_owner', gives: false })])
  })

  test('I5 tells the same of a foreign place and of one that does not exist, and what is missing there', async () => {
    const said = async (action: string, resource: BodyOf<typeof decide>['resource']) => {
      const { decision_id: _id, revision: _revision, ...rest } = (await explain('amara', { action, resource })).body
      return rest
    }
    const unknown = { type: 'allocation', project_id: newId('project') }
    for (const action of ['storage.read', 'project.read', 'tenant.update', 'project.member.leave', 'auth.token.issue']) {
      const none = await said(action, unknown)
      expect([action, await said(action, inProject(project.borealis))]).toEqual([action, none])
      expect([action, await said(action, { ...inProject(), tenant_id: org.borealis })]).toEqual([action, none])
      const nobodys = await said(action, inTenant(newId('org')))
      expect([action, await said(action, inTenant(org.borealis))]).toEqual([action, nobodys])
    }
    expect((await said('storage.read', unknown)).missing[0]).toBe('An active membership of the project.')
    expect((await said('storage.read', inTenant())).missing[0]).toBe('The question must name the project.')
  })

  test('DE-14 tells of another only the roles that the caller may read', async () => {
    const binding = newId('binding')
    await live.sql(
      `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at) values ($1, 'user', $2, $3, now())`,
      [binding, user('axel'), roleIdOf('platform_ops')],
    )
    const told = async (person: string) => {
      const { body } = await explain(person, { ...about('axel'), action: 'allocation.read', resource: inProject() })
      return body.roles.map(({ scope, role_name }: { scope: string; role_name: string }) => `${scope} ${role_name}`)
    }
    const [ofPlatform, ofTenant, ofProject] = ['global platform_ops', 'tenant tenant_member', 'project project_viewer']
    expect(await told('ada')).toEqual([ofPlatform, ofTenant, ofProject])
    expect(await told('amara')).toEqual([ofTenant, ofProject])
    // Without her role in the organization she reads the roles of the project, and none of its organization.
    await live.sql(`update tenant_role_bindings set deleted_at = now(), delete_reason = 'test' where principal_id = $1`, [user('amara')])
    expect(await told('amara')).toEqual([ofProject])
    await live.sql(`update tenant_role_bindings set deleted_at = null, delete_reason = null where principal_id = $1`, [user('amara')])
    await live.sql(`delete from platform_role_bindings where id = $1`, [binding])
  })
})

describe('me/permissions', () => {
  const mine = (person: string, query: string) => live.call(person, 'GET', `/api/v1/me/permissions${query}`)

  test('D8 is exactly what decisions allow', async () => {
    for (const [person, query, resource] of [
      ['alice', `?org_id=${org.aurora}`, { type: 'tenant_membership', id: user('alice'), tenant_id: org.aurora }],
      ['amara', `?project_id=${project.aurora}`, { type: 'project_membership', id: user('amara'), project_id: project.aurora }],
      ['ada', '', { type: 'user', id: user('ada') }],
      ['asha', '', { type: 'user', id: user('asha') }],
    ] as const) {
      const { status, body } = await mine(person, query)
      expect(status).toBe(200)
      const allowed = []
      for (const action of Object.keys(actions))
        if ((await ask(person, { action, resource })).body.decision === 'allow') allowed.push(action)
      expect(body.permissions.toSorted()).toEqual(allowed.toSorted())
      expect(body.permissions.length).toBeGreaterThan(0)
      expect(body.conditional).toEqual([])
    }
  })

  test('DE-10 DE-23 conditional is what a rule denies only for want of what this request does not say; what is known of it settles the others', async () => {
    const everywhere = ['0.0.0.0/0', '::/0']
    const rules: [action: string, condition: object][] = [
      ['allocation.create', { not_in: { region: ['eu-north'] } }],
      ['workload.manage', { any: [{ at_least: { gpus: 8 } }] }],
      // Whoever asks what he may do has not left anything out.
      ['storage.bucket.manage', { absent: ['region'] }],
      ['storage.grant.manage', { not: { present: ['region'] } }],
      // A guard settles it as long as nothing is said.
      ['allocation.release', { present: ['sku'], in: { sku: ['h100'] } }],
      ['storage.read', { not_within: { source_ip: everywhere } }],
      ['storage.write', { within: { source_ip: everywhere } }],
      ['workload.read', { in: { weekday: [1, 2, 3, 4, 5, 6, 7] } }],
      // Of which type it will be is open, that it will be of one is not.
      ['workload.token.issue', { in: { resource_type: ['project'] } }],
      ['storage.credential.issue', { in: { resource_type: ['bucket'] } }],
      ['storage.credential.read', { not_in: { resource_type: ['allocation'] } }],
      ['storage.credential.revoke', { present: ['resource_type'] }],
      ['storage.mount_plan.read', { absent: ['resource_type'] }],
      ['project.ssh_key.manage', { in: { resource_type: ['bucket'] }, not_within: { source_ip: everywhere } }],
      ['project.ssh_key.read', { any: [{ in: { resource_type: ['bucket'] } }, { within: { source_ip: everywhere } }] }],
      // One that could not be judged, and one that surely denies.
      ['terminal.connect', { not_in: { region: ['eu-north'] } }],
      ['terminal.connect', { in: { actor_type: ['user'] } }],
    ]
    const before = (await mine('amara', `?project_id=${project.aurora}`)).body
    expect(before.permissions).toEqual(expect.arrayContaining(rules.map(([action]) => action)))
    for (const [index, [action, condition]] of rules.entries()) {
      const body = { key: `mine-${index}`, actions: [action], condition }
      expect((await live.ask('alice', createProjectConstraint, { params: { project_id: project.aurora }, body })).status).toBe(201)
    }
    const { permissions, conditional } = (await mine('amara', `?project_id=${project.aurora}`)).body
    expect(conditional.toSorted()).toEqual([
      'allocation.create',
      'storage.bucket.manage',
      'storage.credential.issue',
      'storage.credential.read',
      'storage.grant.manage',
      'workload.manage',
      'workload.token.issue',
    ])
    const spared = ['allocation.release', 'storage.read', 'storage.mount_plan.read', 'project.ssh_key.manage']
    const ruled = new Set(rules.map(([action]) => action).filter((action) => !spared.includes(action)))
    expect(permissions).toEqual(before.permissions.filter((action: string) => !ruled.has(action)))
    const decided = async (action: string, type: string) => {
      const attributes = { region: 'eu-north', gpus: 1, source_ip: '192.0.2.1' }
      return (await ask('amara', { action, resource: { type, project_id: project.aurora }, attributes })).body.decision
    }
    for (const action of conditional) expect([action, await decided(action, 'allocation')]).toEqual([action, 'allow'])
    // Whatever it is done to, the one is allowed and the other is not; what is conditional may be either.
    for (const type of ['bucket', 'allocation', 'project']) {
      for (const action of spared) expect([action, type, await decided(action, type)]).toEqual([action, type, 'allow'])
      for (const action of ['storage.credential.revoke', 'project.ssh_key.read', 'terminal.connect'])
        expect([action, type, await decided(action, type)]).toEqual([action, type, 'deny'])
    }
    expect(await decided('storage.credential.issue', 'bucket')).toBe('deny')
    expect(await decided('storage.credential.read', 'project')).toBe('deny')
    expect(await decided('workload.token.issue', 'project')).toBe('deny')
    await live.sql(`delete from policy_constraints where key like 'mine-%'`)
  })

  test('AU-05 of a place that is foreign or does not exist: not found, alike', async () => {
    for (const query of [`?org_id=${org.borealis}`, `?org_id=${newId('org')}`])
      expect((await mine('alice', query)).body).toMatchObject({ code: 'organization_not_found' })
    for (const query of [
      `?project_id=${project.borealis}`,
      `?project_id=${newId('project')}`,
      `?project_id=${project.borealis}&org_id=${org.aurora}`,
    ])
      expect((await mine('alice', query)).body).toMatchObject({ code: 'project_not_found' })
  })
})
