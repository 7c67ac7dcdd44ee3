import { createOrganizationConstraint, deleteOrganizationConstraint } from '@gatehouse/contract/constraints'
import { decide, decideBatch, explain as explainOperation } from '@gatehouse/contract/decisions'
import { expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { actions } from '#rails/authz/actions.ts'
import { type LiveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'

const { org, project } = seeded
const every = Object.keys(actions)

const live = serverFixture()

const madeIn = (home: typeof aurora, role?: string) => machineWithSecret(live, home, role)
const aurora = { org_id: org.aurora, project_id: project.aurora }
const inProject = { type: 'allocation', project_id: project.aurora }

/** What is said without the name of the answer. */
const told = ({
  status,
  body: { decision_id: _id, revision: _revision, correlation_id: _correlation, ...said },
}: Awaited<ReturnType<LiveServer['call']>>) => [status, said]

test('DE-02 D8 with a token, what a service account may do is what decisions allow it, one by one and together', async () => {
  const machine = await madeIn(aurora, 'project_member')
  for (const asked of [{}, { scope: 'allocation.read project.read' }]) {
    const authorization = `Bearer ${(await machine.ask(asked)).body.access_token}`
    const call = (method: string, path: string, body?: object) =>
      live.call(null, method, `/api/v1/${path}`, { ...(body ? { body } : {}), headers: { authorization } })
    for (const [query, resource] of [
      [`?project_id=${project.aurora}`, { type: 'project', project_id: project.aurora }],
      ['', { type: 'platform' }],
    ] as const) {
      const questions = every.map((action) => ({ action, resource }))
      const { body: batch } = await call('POST', 'authz/decisions/batch', { questions })
      const allowed = every.filter((_, at) => batch.decisions[at].decision === 'allow')
      const { body: mine } = await call('GET', `me/permissions${query}`)
      expect(mine).toMatchObject({ permissions: allowed, conditional: [], revision: batch.revision })
      for (const path of ['authz/decisions', 'authz/explain']) {
        const singly = await Promise.all(questions.map((question) => call('POST', path, question)))
        for (const [at, { body }] of singly.entries()) {
          const { decision_id: _id, ...together } = batch.decisions[at]
          expect(body).toMatchObject({ ...together, revision: batch.revision })
        }
      }
    }
    const { body } = await call('GET', `me/permissions?project_id=${project.aurora}`)
    expect(body.permissions.includes('allocation.create')).toBe(!('scope' in asked))
    expect(body.permissions).toEqual(expect.arrayContaining(['me.read', 'auth.token.issue', 'allocation.read']))
  }
})

test('DE-12 DE-14 to who may not read its project a service account answers like one that nobody has: out of its scope', async () => {
  const next = newId('project')
  await live.sql(`insert into projects (id, org_id, name, slug, state, created_at) values ($1, $2, 'Next', 'next-door', 'active', now())`, [
    next,
    org.aurora,
  ])
  const nextDoor = await madeIn({ org_id: org.aurora, project_id: next }, 'project_member')
  const rests = await madeIn({ org_id: org.aurora, project_id: next })
  const abroad = await madeIn({ org_id: org.borealis, project_id: project.borealis })
  const disabled = `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = $2, disable_reason = 'rests' where id = $1`
  await live.sql(disabled, [rests.service_account_id, seeded.user('alice')])
  const ask = async (person: string, id: string, path: string, action: string, resource: object) =>
    told(await live.call(person, 'POST', `/api/v1/authz/${path}`, { body: { actor: { type: 'service_account', id }, action, resource } }))
  for (const path of ['decisions', 'explain'])
    for (const [action, resource] of [
      ['storage.read', inProject],
      ['auth.token.issue', inProject],
      ['tenant.read', { type: 'organization', id: org.aurora }],
    ] as const) {
      const unknown = await ask('asha', newId('nobody'), path, action, resource)
      expect([action, unknown]).toEqual([action, [200, expect.objectContaining({ decision: 'deny', reason_code: 'scope_mismatch' })]])
      for (const { service_account_id } of [nextDoor, rests, abroad])
        expect([action, await ask('asha', service_account_id, path, action, resource)]).toEqual([action, unknown])
    }
  // In its own project, and to the platform, it is told.
  const own = { type: 'allocation', project_id: next }
  const [, said] = await ask('ada', rests.service_account_id, 'decisions', 'storage.read', own)
  expect(said).toMatchObject({ reason_code: 'actor_disabled' })
  expect((await ask('ada', rests.service_account_id, 'decisions', 'storage.read', inProject))[1]).toMatchObject({
    reason_code: 'actor_disabled',
  })
})

test('DE-14 RP-23 what is not fit for service accounts no role gives to one, and nobody is told that one could', async () => {
  const { service_account_id: id } = await madeIn(aurora, 'project_member')
  const explain = async (action: string) => {
    const { body } = await live.ask('amara', explainOperation, {
      body: { actor: { type: 'service_account', id }, action, resource: inProject },
    })
    return { ...body, gives: body.roles.map(({ gives }: { gives: boolean }) => gives) }
  }
  expect(await explain('project.access_grant.read')).toMatchObject({
    reason_code: 'permission_denied',
    gives: [false],
    missing: ['Nobody can give project.access_grant.read to a service account.'],
  })
  expect((await explain('project.access_grant.read')).steps.at(-1)).toMatchObject({
    step: 'permission',
    because: 'No service account has project.access_grant.read, whichever role gives it to people.',
  })
  expect(await explain('storage.bucket.manage')).toMatchObject({
    gives: [false],
    missing: ['A role at the project that gives storage.bucket.manage: a custom role for service accounts with this key.'],
  })
  expect(await explain('storage.write')).toMatchObject({ decision: 'allow', gives: [true], missing: [] })
})

test('DE-14 it is told what a service account belongs to, and whether a token or its home bounds it', async () => {
  const machine = await madeIn(aurora, 'project_viewer')
  const authorization = `Bearer ${(await machine.ask()).body.access_token}`
  const explain = async (person: string | null, action: string) => {
    const actor = { type: 'service_account', id: machine.service_account_id } as const
    const headers = person === null ? { authorization } : {}
    const body = { ...(person === null ? {} : { actor }), action, resource: inProject }
    const { body: said } = await live.ask(person, explainOperation, { body, headers })
    const because = (wanted: string) => said.steps.find(({ step }: { step: string }) => step === wanted)?.because
    return [said.decision, because('token'), because('membership'), because('permission')]
  }
  const [belongs, gives] = ['The actor belongs to the project.', 'Belonging to the project gives project.read.']
  expect(await explain('asha', 'project.read')).toEqual(['allow', 'What the actor is bound to reaches it.', belongs, gives])
  expect(await explain(null, 'project.read')).toEqual(['allow', 'The token reaches it.', belongs, gives])
  const away = 'does not reach this action or this place.'
  expect(await explain('asha', 'tenant.read')).toEqual(['deny', `What the actor is bound to ${away}`, undefined, undefined])
  expect(await explain(null, 'tenant.read')).toEqual(['deny', `The token ${away}`, undefined, undefined])
})

test('DE-14 that a rule is locked, or not, is told where its scope may be read, and nowhere else', async () => {
  const machine = await madeIn(aurora, 'project_viewer')
  const authorization = `Bearer ${(await machine.ask()).body.access_token}`
  const missing = async (person: string | null) => {
    const body = { actor: { type: 'user', id: seeded.user('asha') }, action: 'storage.read', resource: inProject } as const
    const headers = person === null ? { authorization } : {}
    return (await live.ask(person, explainOperation, { body, headers })).body.missing
  }
  const change = (key: string) => `The request must not meet the condition of ${key}, or the organization must change that constraint`
  for (const [is_locked, way] of [
    [true, '; it is locked, so no narrower scope can exempt from it.'],
    [false, '; or a narrower scope must exempt from it.'],
  ] as const) {
    const body = { key: 'no-reading', actions: ['storage.read'], condition: {}, is_locked }
    const { status, body: made } = await live.ask('alice', createOrganizationConstraint, { params: { org_id: org.aurora }, body })
    expect(status).toBe(201)
    expect(await missing('ada')).toEqual([`${change('no-reading')}${way}`])
    for (const person of [null, 'amara']) expect(await missing(person)).toEqual([`${change('that constraint')}.`])
    await live.ask('alice', deleteOrganizationConstraint, {
      params: { org_id: org.aurora, constraint_id: made.id },
      body: { reason: 'over' },
    })
  }
})

test('DE-14 where a token is in the way, a service account is told what else would be, or that no token would do', async () => {
  const machine = await madeIn(aurora, 'project_member')
  const authorization = `Bearer ${(await machine.ask({ scope: 'project.read' })).body.access_token}`
  const missing = async (action: string, resource: { type: string; project_id: string }) => {
    const { body } = await live.ask(null, explainOperation, { body: { action, resource }, headers: { authorization } })
    return [body.reason_code, ...body.missing]
  }
  const token = 'A token whose binding and scope reach this action and place.'
  expect(await missing('storage.write', inProject)).toEqual(['scope_mismatch', token])
  const never = 'Nobody can give project.role.define to a service account.'
  expect(await missing('project.role.define', inProject)).toEqual(['scope_mismatch', token, never])
  for (const [action, resource] of [
    ['tenant.read', inProject],
    ['storage.write', { type: 'allocation', project_id: project.borealis }],
  ] as const)
    expect(await missing(action, resource)).toEqual([
      'scope_mismatch',
      'Nothing would do: no token of this machine reaches this action there.',
    ])
})

test('DE-14 who reads the roles of a project and none of its organization is told of people outside the project what is told of none', async () => {
  const machine = await madeIn(aurora, 'project_viewer')
  const authorization = `Bearer ${(await machine.ask()).body.access_token}`
  const ask = async (id: string, path: string, person: string | null = null) => {
    const body = { actor: { type: 'user', id }, action: 'storage.read', resource: inProject }
    const headers = person === null ? { authorization } : {}
    return told(await live.call(person, 'POST', `/api/v1/authz/${path}`, { body, headers }))
  }
  const [outside, inside] = [seeded.user('anna'), seeded.user('axel')]
  const disable = `update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where id = any($1)`
  await live.sql(disable, [[outside, inside]])
  for (const path of ['decisions', 'explain']) {
    const unknown = await ask(newId('nobody'), path)
    expect(unknown).toMatchObject([200, { decision: 'deny', reason_code: 'membership_missing' }])
    expect(await ask(outside, path)).toEqual(unknown)
    // One of the project's own is known there, and everybody of the organization to who reads its roles.
    expect(await ask(inside, path)).toMatchObject([200, { reason_code: 'actor_disabled' }])
    expect(await ask(outside, path, 'asha')).toMatchObject([200, { reason_code: 'actor_disabled' }])
  }
  await live.sql(`update users set disabled_at = null, disabled_by = null, disable_reason = null where id = any($1)`, [[outside, inside]])
})

test('DE-19 where a machine is asked about away from home, the revision moves with what happens to it at home', async () => {
  const { service_account_id: id } = await madeIn(aurora, 'project_member')
  for (const resource of [{ type: 'platform' }, { type: 'organization', id: org.borealis }]) {
    const question = { actor: { type: 'service_account', id }, action: 'me.read', resource } as const
    const ask = async () => {
      const { body } = await live.ask('ada', decide, { body: question })
      const { body: batch } = await live.ask('ada', decideBatch, { body: { questions: [question] } })
      expect(batch).toMatchObject({ revision: body.revision, decisions: [{ decision: body.decision }] })
      return [body.decision, body.revision]
    }
    const [allowed, before] = await ask()
    expect([allowed, before]).toEqual(['allow', (await ask())[1]])
    await live.sql(
      `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = $2, disable_reason = 'rests' where id = $1`,
      [id, seeded.user('alice')],
    )
    const [denied, after] = await ask()
    expect(denied).toBe('deny')
    expect(after).not.toBe(before)
    await live.sql(
      `update service_accounts set state = 'active', disabled_at = null, disabled_by = null, disable_reason = null where id = $1`,
      [id],
    )
  }
})
