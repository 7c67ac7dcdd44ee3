import { decide, explain } from '@gatehouse/contract/decisions'
import { deleteSharedRuntime, disableSharedRuntime, readSharedRuntime, updateSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { runtimesOn } from '../../../../test/runtime-scene.ts'

const { org, project } = seeded
const because = { reason: 'because' }

const live = serverFixture()

test('DE-02 DE-19 MI-07 what is answered about an operator is as fresh as what it meets itself, on every process', async () => {
  const runtimes = runtimesOn(live)
  const doors = [live.url, (await live.replica()).url]
  const id = await runtimes.made({ eligible_project_ids: [project.aurora] })
  const ask = (action: string, project_id: string | undefined, base?: string) => {
    const resource = { type: 'shared_runtime', id, tenant_id: org.aurora, ...(project_id ? { project_id } : {}) }
    return live.ask('ada', decide, { body: { actor: { type: 'shared_runtime_operator', id }, action, resource }, base })
  }
  /** For its runtime, for a project of its tenant, and to attach that. */
  const told = async () => {
    const heard = []
    for (const base of doors) {
      const answers = [
        await ask('tenant.shared_runtime.read', undefined, base),
        await ask('shared_runtime.allocation.read', project.aurora, base),
        await ask('shared_runtime.attach', project.aurora, base),
      ]
      heard.push(answers.map(({ body }) => body.reason_code ?? body.decision))
    }
    expect(heard[1]).toEqual(heard[0])
    return heard[0]
  }
  const move = (verb: 'disable' | 'enable') => runtimes.move(id, verb)
  expect(await told()).toEqual(['allow', 'membership_missing', 'permission_denied'])
  // What is not delegated is not, whatever project is named.
  expect((await ask('shared_runtime.attach', await runtimes.project())).body.reason_code).toBe('permission_denied')
  const { version } = (await live.ask('adam', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body
  await live.ask('adam', updateSharedRuntime, {
    params: { org_id: org.aurora, shared_runtime_id: id },
    body: { delegated_actions: ['attach'], expected_version: version, ...because },
  })
  expect(await told()).toEqual(['allow', 'membership_missing', 'allow'])
  const { body: attached } = await runtimes.attach(id, project.aurora)
  expect(await told()).toEqual(['allow', 'allow', 'allow'])
  // What people have taken away is off the list of what it may attach.
  await runtimes.detach(id, attached.id)
  expect(await told()).toEqual(['allow', 'membership_missing', 'membership_missing'])
  await move('disable')
  expect(await told()).toEqual(['actor_disabled', 'actor_disabled', 'actor_disabled'])
  await move('enable')
  expect(await told()).toEqual(['allow', 'membership_missing', 'membership_missing'])
  await move('disable')
  await told()
  await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
  expect(await told()).toEqual(['actor_disabled', 'actor_disabled', 'actor_disabled'])
})

test('DE-14 a tenant’s own people are told about their operators, and of another tenant’s no more than of none', async () => {
  const runtimes = runtimesOn(live)
  const [own, foreign] = [await runtimes.made(), (await runtimes.create({}, 'boris', org.borealis)).body.id]
  const ask = async (person: string, id: string, path = 'explain') => {
    const resource = { type: 'shared_runtime', id, tenant_id: org.aurora }
    const question = { actor: { type: 'shared_runtime_operator', id }, action: 'shared_runtime.report', resource }
    const { status, body } = await live.call(person, 'POST', `/api/v1/authz/${path}`, { body: question })
    const { decision_id: _id, revision: _revision, ...rest } = body
    return [status, rest]
  }
  expect(await ask('alice', own)).toMatchObject([200, { decision: 'allow', roles: [], missing: [] }])
  const none = await ask('alice', '00000000-0000-7000-8000-000000000000')
  expect(none).toMatchObject([200, { decision: 'deny', reason_code: 'scope_mismatch' }])
  expect(await ask('alice', foreign)).toEqual(none)
})

test('DE-14 who reads the roles of a project and no runtimes is told of an operator there what is told of none', async () => {
  const runtimes = runtimesOn(live)
  const [attached, rests] = [await runtimes.made(), await runtimes.made()]
  await runtimes.attach(attached, project.aurora)
  await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: rests }, body: because })
  const machine = await machineWithSecret(live, undefined, 'project_viewer')
  const authorization = `Bearer ${(await machine.ask()).body.access_token}`
  const ask = async (person: string | null, id: string) => {
    const resource = { type: 'shared_runtime', id, tenant_id: org.aurora, project_id: project.aurora }
    const question = { actor: { type: 'shared_runtime_operator', id }, action: 'allocation.read', resource } as const
    const headers = person === null ? { authorization } : {}
    const { status, body } = await live.ask(person, explain, { body: question, headers })
    const { decision_id: _id, revision: _revision, ...rest } = body
    return [status, rest]
  }
  const none = await ask(null, '00000000-0000-7000-8000-000000000000')
  expect(none).toMatchObject([200, { decision: 'deny', reason_code: 'scope_mismatch' }])
  for (const id of [attached, rests]) expect(await ask(null, id)).toEqual(none)
  // A member of both reads the organization's runtimes.
  expect(await ask('asha', attached)).toMatchObject([200, { reason_code: 'permission_denied' }])
  expect(await ask('asha', rests)).toMatchObject([200, { reason_code: 'actor_disabled' }])
})
