import { revokeAccessGrant } from '@gatehouse/contract/access-grants'
import {
  createAllocation,
  listAllocations,
  nameAllocationOwner,
  readAllocation,
  releaseAllocation,
  replaceAllocationSshKeys,
} from '@gatehouse/contract/allocations'
import { createOrganizationConstraint } from '@gatehouse/contract/constraints'
import { addProjectMember, removeProjectMember } from '@gatehouse/contract/members'
import { deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { describe, expect, test } from 'vitest'
import { automationKey, keyOf } from '../../../../test/access-stage.ts'
import { sceneOn } from '../../../../test/allocation-scene.ts'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { fixture } from '../../../../test/fixture.ts'
import { type LiveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'

const { org, project, user } = seeded
const nobody = '00000000-0000-7000-8000-000000000000'

const live = serverFixture()
const scene = fixture(() => sceneOn(live, 64))

const refused = ({ status, body }: Awaited<ReturnType<LiveServer['call']>>) => [status, body.code, body.details?.reason_code]
const bytesOf = ({ status, text, body }: Awaited<ReturnType<LiveServer['call']>>) => [status, text.replace(body.correlation_id, '')]

describe('the way of an allocation', () => {
  test('SG-06 SG-08 SG-09 SG-18 SG-20 SG-23 asked for, provided, open, given back: it goes on by the node’s word, and says no more than that', async () => {
    const [own, robot, granted] = [await keyOf(live, 'asha'), await automationKey(live), await keyOf(live, 'axel')]
    const asked = await scene.ask({ ssh_key_ids: [own.id, robot.id] })
    expect(asked.status).toBe(201)
    const { id } = asked.body
    expect(asked.body).toMatchObject({
      state: 'provisioning',
      node_id: scene.node.id,
      requested_by_type: 'user',
      requested_by: user('asha'),
      owner_user_id: user('asha'),
      ssh_key_ids: [own.id, robot.id].sort(),
      runtime_sync: { status: 'pending', generation: null },
    })
    expect(asked.body.username_on_node).toMatch(/^gh-[a-z2-7]{12}$/)
    // Granted before there is anything to enter: it is in the first set.
    const early = await scene.grant(id, user('axel'), granted.id)
    expect([early.status, early.body.runtime_sync.status, early.body.runtime_sync.generation]).toEqual([201, 'pending', null])
    expect(await live.sql('select type, generation::int from node_tasks where allocation_id = $1 order by generation', [id])).toEqual([
      { type: 'allocation.provision_user', generation: 1 },
    ])

    await scene.node.step()
    expect(await scene.read(id)).toMatchObject({ state: 'provisioning', runtime_sync: { status: 'pending', generation: 2 } })
    expect(scene.keysOn(id)).toEqual([])
    await scene.node.step()
    const open = await scene.read(id)
    expect(open).toMatchObject({ state: 'active', runtime_sync: { status: 'applied', generation: 2 } })
    // Both are from the moment of the node's report.
    expect(open.runtime_sync.since).toBe(open.state_since)
    expect(scene.keysOn(id)).toEqual([own, robot, granted].map(({ fingerprint }) => fingerprint).sort())
    expect(scene.node.held.get(id)).toMatchObject({ username: open.username_on_node, is_there: true })

    const given = await scene.release(id)
    expect([given.status, given.body.state, given.body.ssh_key_ids, given.body.runtime_sync.status]).toEqual([
      202,
      'releasing',
      [],
      'pending',
    ])
    expect(await live.sql('select end_cause from allocation_access_grants where allocation_id = $1', [id])).toEqual([
      { end_cause: 'allocation_released' },
    ])
    await scene.node.settle()
    expect(await scene.read(id)).toMatchObject({ state: 'released', runtime_sync: { status: 'applied', generation: 3 } })
    expect(scene.node.held.get(id)).toMatchObject({ is_there: false, keys: [] })
    const told = await live.sql<{ action: string; actor_type: string; tenant_id: string; project_id: string }>(
      `select action, actor_type, tenant_id, project_id from audit_logs where resource_type = 'allocation' and resource_id = $1 order by seq`,
      [id],
    )
    expect(told.map(({ action, actor_type }) => `${actor_type} ${action}`)).toEqual([
      'user allocation.create',
      'user allocation.provision',
      'node_agent allocation.ssh_keys.install',
      'node_agent allocation.activate',
      'user allocation.release',
      'node_agent allocation.released',
    ])
    for (const { tenant_id, project_id } of told) expect([tenant_id, project_id]).toEqual([org.aurora, project.aurora])
  })

  test('SG-23 one that is on no node yet is over as soon as it is given back', async () => {
    const { body } = await scene.ask({ sku: 'nowhere' })
    expect([body.state, body.node_id, body.username_on_node]).toEqual(['requested', null, null])
    const given = await scene.release(body.id)
    expect([given.status, given.body.state]).toEqual([202, 'released'])
    expect(await live.sql('select 1 from node_tasks where allocation_id = $1', [body.id])).toEqual([])
  })

  test('SG-23 given back while it is made: what was under way is not wanted any more, and nothing lets it become active', async () => {
    const own = await keyOf(live, 'asha')
    const { body } = await scene.ask({ ssh_key_ids: [own.id] })
    // Taken, and reported only after the release.
    const told = await scene.node.wait()
    await scene.release(body.id)
    const mine = told.body.tasks.filter((task: { params: { allocation_id: string } }) => task.params.allocation_id === body.id)
    expect(mine).toHaveLength(1)
    const late = await scene.node.report(mine[0], { outcome: 'completed', generation: 1, receipt: { applied_generation: 1 } })
    expect([late?.status, late?.body.state]).toEqual([200, 'superseded'])
    expect((await scene.read(body.id)).state).toBe('releasing')
    await scene.node.settle()
    expect((await scene.read(body.id)).state).toBe('released')
    expect(scene.node.held.get(body.id)).toMatchObject({ is_there: false, keys: [] })
    const types = await live.sql('select type from node_tasks where allocation_id = $1 order by generation', [body.id])
    expect(types).toEqual([{ type: 'allocation.provision_user' }, { type: 'allocation.deprovision_user' }])
  })

  test('SG-23 what is over or on its way is not given back, and its keys and owner stay as they are', async () => {
    const id = await scene.active()
    expect((await scene.release(id)).status).toBe(202)
    for (const state of ['releasing', 'released']) {
      expect((await scene.read(id)).state).toBe(state)
      const again = await scene.release(id)
      expect([again.status, again.body.code, again.body.details]).toEqual([409, 'state_conflict', { state }])
      expect(refused(await scene.setKeys(id, []))).toEqual([409, 'allocation_not_active', undefined])
      const named = await live.ask('amara', nameAllocationOwner, { params: { allocation_id: id }, body: { user_id: user('axel') } })
      expect(refused(named)).toEqual([409, 'allocation_not_active', undefined])
      await scene.node.settle()
    }
  })

  test('SG-10 SG-20 a node that has applied what nobody here has asked for has confirmed nothing', async () => {
    const id = await scene.active()
    await scene.setKeys(id, [(await keyOf(live, 'asha')).id])
    const told = await scene.node.wait()
    const [task] = told.body.tasks
    const ahead = { outcome: 'superseded', generation: 3, receipt: { applied_generation: 1_000_003 } } as const
    expect((await scene.node.report(task, ahead))?.status).toBe(403)
    expect((await scene.read(id)).runtime_sync).toMatchObject({ status: 'pending', generation: 3 })
    const [row] = await live.sql(`select severity from audit_logs where action = 'node.task.report' and resource_id = $1`, [task.task_id])
    expect(row).toEqual({ severity: 'high' })
    // And is not left waiting for good: it is given again, and its true word counts.
    scene.node.restart()
    await scene.node.settle()
    expect((await scene.read(id)).runtime_sync).toMatchObject({ status: 'applied', generation: 3 })
  })
})

describe('its keys', () => {
  test('SG-06 SG-07 replacing the allocation’s own keys keeps what members were granted, and a revoke keeps the own keys', async () => {
    const [first, second, robot, granted] = [
      await keyOf(live, 'asha'),
      await keyOf(live, 'asha'),
      await automationKey(live),
      await keyOf(live, 'axel'),
    ]
    const id = await scene.active({ ssh_key_ids: [first.id] })
    const grant = await scene.grant(id, user('axel'), granted.id)
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([first.fingerprint, granted.fingerprint].sort())
    const replaced = await scene.setKeys(id, [second.id, robot.id])
    expect([replaced.status, replaced.body.ssh_key_ids, replaced.body.runtime_sync.status]).toEqual([
      200,
      [second.id, robot.id].sort(),
      'pending',
    ])
    expect(scene.keysOn(id)).toContain(first.fingerprint)
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([second.fingerprint, robot.fingerprint, granted.fingerprint].sort())
    expect((await live.ask('amara', revokeAccessGrant, { params: { allocation_id: id, grant_id: grant.body.id }, body: {} })).status).toBe(
      200,
    )
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([second.fingerprint, robot.fingerprint].sort())
    const [row] = await live.sql<{ metadata: Record<string, unknown> }>(
      `select metadata from audit_logs where action = 'allocation.ssh_keys.replace' and resource_id = $1`,
      [id],
    )
    expect(row!.metadata).toMatchObject({ fingerprints: expect.arrayContaining([second.fingerprint]), ended: [first.id], generation: 4 })
  })

  test('SG-07 the same key as its owner’s and by a grant is there once, and stays when one of both goes', async () => {
    const own = await keyOf(live, 'asha')
    const id = await scene.active({ ssh_key_ids: [own.id] })
    const grant = await scene.grant(id, user('asha'), own.id)
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([own.fingerprint])
    await scene.setKeys(id, [])
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([own.fingerprint])
    await live.ask('asha', revokeAccessGrant, { params: { allocation_id: id, grant_id: grant.body.id }, body: {} })
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([])
  })

  test('SG-07 another’s key, another project’s and none are all alike not there, and nothing is queued', async () => {
    const id = await scene.active()
    const before = await live.sql('select id from node_tasks where allocation_id = $1', [id])
    const foreign = await automationKey(live, project.borealis, 'birgit')
    const deleted = await keyOf(live, 'asha')
    await live.ask('asha', deleteSshKey, { params: { ssh_key_id: deleted.id }, body: {} })
    const others = [(await keyOf(live, 'amara')).id, foreign.id, deleted.id, nobody]
    const answers = []
    for (const each of others) {
      answers.push(bytesOf(await scene.setKeys(id, [each])), bytesOf(await scene.setKeys(id, [each], 'amara')))
      answers.push(bytesOf(await scene.ask({ ssh_key_ids: [each] })))
    }
    expect(new Set(answers.map((answer) => answer.join())).size).toBe(1)
    expect(answers[0]![0]).toBe(404)
    expect(await live.sql('select id from node_tasks where allocation_id = $1', [id])).toEqual(before)
  })

  test('SG-07 only its owner and those who may everywhere in the project replace them', async () => {
    const id = await scene.active()
    const by = async (who: string) => (await scene.setKeys(id, [], who)).status
    expect([await by('asha'), await by('aldo'), await by('amara')]).toEqual([200, 200, 200])
    expect([await by('axel'), await by('alice'), await by('ada')]).toEqual([403, 403, 403])
    expect(await by('bella')).toBe(404)
  })
})

describe('its owner', () => {
  const name = (id: string, who: string, user_id: string) =>
    live.ask(who, nameAllocationOwner, { params: { allocation_id: id }, body: { user_id } })

  test('SG-18 the former owner’s keys end when another is named, and he has nothing over it any more', async () => {
    const [own, robot] = [await keyOf(live, 'asha'), await automationKey(live)]
    const id = await scene.active({ ssh_key_ids: [own.id, robot.id] })
    const named = await name(id, 'asha', user('axel'))
    expect([named.status, named.body.owner_user_id, named.body.ssh_key_ids]).toEqual([200, user('axel'), [robot.id]])
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([robot.fingerprint])
    expect(refused(await scene.setKeys(id, [robot.id]))).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    const his = await keyOf(live, 'axel')
    expect((await scene.setKeys(id, [his.id], 'axel')).status).toBe(200)
  })

  test('SG-18 only a member of the project who is not disabled can be named', async () => {
    const id = await scene.active()
    for (const each of ['anna', 'bella'])
      expect(refused(await name(id, 'amara', user(each)))).toEqual([409, 'not_project_member', undefined])
    expect(refused(await name(id, 'amara', nobody))).toEqual([409, 'not_project_member', undefined])
    await live.sql(`update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where id = $1`, [user('axel')])
    expect(refused(await name(id, 'amara', user('axel')))).toEqual([409, 'not_project_member', undefined])
    await live.sql('update users set disabled_at = null, disabled_by = null, disable_reason = null where id = $1', [user('axel')])
    expect((await name(id, 'amara', user('axel'))).status).toBe(200)
  })

  test('SG-03 SG-11 SG-18 S3 who has left the project owns nothing there, and also not when he comes back', async () => {
    const own = await keyOf(live, 'aldo')
    const id = await scene.active({ ssh_key_ids: [own.id] }, 'aldo')
    expect(
      (await live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: user('aldo') }, body: {} })).status,
    ).toBe(204)
    await scene.node.settle()
    expect(await scene.read(id)).toMatchObject({ owner_user_id: null, ssh_key_ids: [], runtime_sync: { status: 'applied' } })
    expect(scene.keysOn(id)).toEqual([])
    const back = await live.ask('amara', addProjectMember, {
      params: { project_id: project.aurora },
      body: { user_id: user('aldo'), role_name: 'project_member' },
    })
    expect(back.status).toBe(201)
    expect(refused(await scene.setKeys(id, [own.id], 'aldo'))).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    expect(refused(await scene.grant(id, user('aldo'), own.id, 'aldo'))).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    const [row] = await live.sql(`select actor_type, metadata from audit_logs where action = 'allocation.owner.end' and resource_id = $1`, [
      id,
    ])
    expect(row).toMatchObject({ actor_type: 'user', metadata: { user_id: user('aldo') } })
  })
})

describe('a service account', () => {
  test('SG-18 has no owner’s rights over what it asked for, names automation keys alone, and reaches no other project', async () => {
    const machine = await machineOn(live.sql, { org_id: org.aurora, project_id: project.aurora })
    const scope = ['allocation.create', 'allocation.read', 'allocation.release', 'allocation.ssh_keys.write', 'project.access_grant.manage']
    const { token } = await machine.mint({ claims: { scope: scope.join(' ') }, row: { scope: `'{${scope.join(',')}}'` } })
    const headers = { authorization: `Bearer ${token}` }
    const [robot, own] = [await automationKey(live), await keyOf(live, 'asha')]
    expect(refused(await scene.ask({ ssh_key_ids: [own.id] }, null, { headers }))).toEqual([404, 'ssh_key_not_found', undefined])
    const asked = await scene.ask({ ssh_key_ids: [robot.id] }, null, { headers })
    expect(asked.body).toMatchObject({ requested_by_type: 'service_account', requested_by: machine.account_id, owner_user_id: null })
    const { id } = asked.body
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([robot.fingerprint])
    const replaced = await live.ask(null, replaceAllocationSshKeys, { params: { allocation_id: id }, headers, body: { ssh_key_ids: [] } })
    expect(refused(replaced)).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    const named = await live.ask('amara', nameAllocationOwner, { params: { allocation_id: id }, body: { user_id: user('asha') } })
    expect([named.status, named.body.owner_user_id]).toEqual([200, user('asha')])

    const elsewhere = await live.ask('birgit', createAllocation, {
      body: { project_id: project.borealis, name: 'theirs', ...scene.pool, gpus: 1 },
    })
    const read = (allocation: string) => live.ask(null, readAllocation, { params: { allocation_id: allocation }, headers })
    expect(bytesOf(await read(elsewhere.body.id))).toEqual(bytesOf(await read(nobody)))
    expect((await read(nobody)).status).toBe(404)
    for (const foreign of [project.borealis, nobody]) {
      const listed = await live.ask(null, listAllocations, { query: { project_id: foreign }, headers })
      expect(refused(listed)).toEqual([403, 'insufficient_permissions', 'scope_mismatch'])
      expect(refused(await scene.ask({ project_id: foreign }, null, { headers }))).toEqual([
        403,
        'insufficient_permissions',
        'scope_mismatch',
      ])
    }
    expect((await live.ask(null, readAllocation, { params: { allocation_id: id }, headers })).status).toBe(200)
    expect((await live.ask(null, releaseAllocation, { params: { allocation_id: id }, headers, body: {} })).status).toBe(202)
  })
})

describe('who asks, and where', () => {
  const list = (who: string, query = `?project_id=${project.aurora}`, headers: Record<string, string> = {}) =>
    live.call(who, 'GET', `/api/v1/allocations${query}`, { headers })

  test('SG-23 strangers learn nothing: what is another’s and what is not there answer alike', async () => {
    const id = await scene.active()
    for (const [method, more, body] of [
      ['GET', ''],
      ['POST', '/release', {}],
      ['PUT', '/ssh-keys', { ssh_key_ids: [] }],
      ['PUT', '/owner', { user_id: user('bella') }],
    ] as const) {
      const asking = (of: string) => live.call('bella', method, scene.path(of, more), body ? { body } : {})
      expect(bytesOf(await asking(id))).toEqual(bytesOf(await asking(nobody)))
      expect(refused(await asking(id))).toEqual([404, 'allocation_not_found', undefined])
    }
    expect(bytesOf(await list('bella'))).toEqual(bytesOf(await list('bella', `?project_id=${nobody}`)))
    expect(bytesOf(await scene.ask({}, 'bella'))).toEqual(bytesOf(await scene.ask({ project_id: nobody }, 'bella')))
  })

  test('SG-23 inside the tenant a refusal says why', async () => {
    const id = await scene.active()
    expect(refused(await live.ask('anna', readAllocation, { params: { allocation_id: id } }))).toEqual([
      403,
      'insufficient_permissions',
      'membership_missing',
    ])
    expect(refused(await scene.ask({}, 'axel'))).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    expect(refused(await scene.release(id, 'axel'))).toEqual([403, 'insufficient_permissions', 'permission_denied'])
    // Override gives nothing of what touches a customer's shell.
    expect((await scene.ask({}, 'ada')).status).toBe(403)
  })

  test('SG-23 the project is named in the request or in its header, and both must agree', async () => {
    const header = { 'x-project-id': project.aurora }
    expect((await list('asha', '', header)).status).toBe(200)
    const asked = await scene.ask({ project_id: undefined }, 'asha', { headers: header })
    expect([asked.status, asked.body.project_id]).toEqual([201, project.aurora])
    const none = [await list('asha', ''), await scene.ask({ project_id: undefined })]
    expect(none.map(({ status, body }) => [status, body.code, body.details.fields[0].field])).toEqual([
      [400, 'validation_error', 'project_id'],
      [400, 'validation_error', 'project_id'],
    ])
    const other = { 'x-project-id': project.borealis }
    for (const both of [await list('asha', undefined, other), await scene.ask({}, 'asha', { headers: other })])
      expect([both.status, both.body.code]).toEqual([400, 'validation_error'])
  })

  test('SG-23 for whoever has no right to a list nothing on it is looked at', async () => {
    let reads = 0
    const { url } = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, {
        of: /from allocations a\s+where project_id/,
        after: async () => {
          reads += 1
        },
      }),
    }))
    const list = async (who: string) => (await live.ask(who, listAllocations, { query: { project_id: project.aurora }, base: url })).status
    expect([await list('bella'), await list('alice'), reads]).toEqual([404, 403, 0])
    expect([await list('asha'), reads]).toEqual([200, 1])
  })

  test('SG-23 lists go page by page, by state, and hold what a single read shows and a rule does not hide', async () => {
    const odd = await scene.ask({ region: 'odd', sku: 'nowhere' })
    const all = await list('asha')
    expect(all.status).toBe(200)
    expect(all.body.items.map(({ id }: { id: string }) => id)).toContain(odd.body.id)
    expect(Object.keys(all.body.items[0])).not.toContain('generation')
    const first = await list('asha', `?project_id=${project.aurora}&limit=2`)
    const next = await list('asha', `?project_id=${project.aurora}&limit=2&cursor=${first.body.next_cursor}`)
    expect([...first.body.items, ...next.body.items]).toEqual(all.body.items.slice(0, 4))
    const waiting = await list('asha', `?project_id=${project.aurora}&state=requested`)
    expect(waiting.body.items.map(({ id }: { id: string }) => id)).toContain(odd.body.id)
    expect(new Set(waiting.body.items.map(({ state }: { state: string }) => state))).toEqual(new Set(['requested']))

    const rule = { key: 'odd-regions', actions: ['allocation.*'], condition: { in: { region: ['odd'] } } }
    const written = await live.ask('alice', createOrganizationConstraint, {
      params: { org_id: org.aurora },
      body: { ...rule, reason: 'test' },
    })
    expect(written.status).toBe(201)
    const hidden = await list('asha')
    expect(hidden.status).toBe(200)
    expect(hidden.body.items).toEqual(all.body.items.filter(({ id }: { id: string }) => id !== odd.body.id))
    for (const refusal of [
      await live.ask('asha', readAllocation, { params: { allocation_id: odd.body.id } }),
      await scene.release(odd.body.id),
      await scene.setKeys(odd.body.id, []),
      await scene.ask({ region: 'odd' }),
    ])
      expect(refused(refusal)).toEqual([403, 'insufficient_permissions', 'policy_constraint_denied'])
    expect((await scene.ask()).status).toBe(201)
  })

  test('SG-23 no more wait for a node at a time than policy allows; what finds a place does not wait', async () => {
    const policy = 'allocations.max_requested_per_project'
    const [before] = await live.sql<{ count: number }>(
      `select count(*)::int as count from allocations where project_id = $1 and state = 'requested'`,
      [project.aurora],
    )
    const limit = before!.count + 2
    await live.setPolicy(policy, limit)
    try {
      const waiting = await Promise.all(Array.from({ length: 5 }, () => scene.ask({ region: 'nowhere' })))
      expect(waiting.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409])
      const { body } = waiting.find(({ status }) => status === 409)!
      expect([body.code, body.details]).toEqual(['limit_reached', { policy, limit }])
      expect((await scene.ask()).body.state).toBe('provisioning')
      await scene.release(waiting.find(({ status }) => status === 201)!.body.id)
      expect((await scene.ask({ region: 'nowhere' })).status).toBe(201)
    } finally {
      await live.setPolicy(policy, 100)
      await scene.node.settle()
    }
  })

  test('SG-23 the same request twice asks for one allocation', async () => {
    const headers = { 'idempotency-key': 'one-and-the-same' }
    const [first, second] = [await scene.ask({ name: 'once' }, 'asha', { headers }), await scene.ask({ name: 'once' }, 'asha', { headers })]
    expect([first.status, second.status, second.body.id]).toEqual([201, 201, first.body.id])
    expect(await live.sql(`select count(*)::int as n from allocations where name = 'once'`)).toEqual([{ n: 1 }])
    const other = await scene.ask({ name: 'twice' }, 'asha', { headers })
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
    expect(refused(await scene.ask({ shared_runtime_id: nobody }))).toEqual([404, 'shared_runtime_not_found', undefined])
  })
})
