import { createAccessGrant } from '@gatehouse/contract/access-grants'
import { replaceAllocationSshKeys } from '@gatehouse/contract/allocations'
import { inviteToOrganization } from '@gatehouse/contract/invitations'
import { removeProjectMember } from '@gatehouse/contract/members'
import { deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { disableUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { accessStage, stageFixture } from '../../../../test/access-stage.ts'
import { liveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'

const { project, user, org } = seeded
const live = serverFixture()
const stage = stageFixture(live)

const soon = (hours: number) => new Date(Date.now() + hours * 3600_000).toISOString()
const codes = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code]

describe('letting somebody in', () => {
  test('SG-01 SG-06 SG-09 a grant joins allocation, project, member and key; the node gets the whole set for its one account', async () => {
    const [own, his] = [await stage.key('asha'), await stage.key('axel')]
    const { id } = await stage.allocation('asha', [own])
    const before = await stage.tasksOf(id)
    const grant = await stage.granted('asha', id, 'axel', his, { reason: 'handover' })
    expect(grant).toMatchObject({
      allocation_id: id,
      project_id: project.aurora,
      grantee_user_id: user('axel'),
      ssh_key_id: his.id,
      fingerprint: his.fingerprint,
      key_type: 'ssh-ed25519',
      state: 'active',
      expires_at: null,
      reason: 'handover',
      created_by: user('asha'),
      ended_at: null,
      end_cause: null,
      runtime_sync: { status: 'pending' },
    })
    const [task, ...more] = (await stage.tasksOf(id)).slice(before.length)
    expect(more).toEqual([])
    expect(task).toMatchObject({ type: 'allocation.install_authorized_keys', state: 'queued', id: grant.runtime_sync.task_id })
    expect(Number(task!.generation)).toBe(grant.runtime_sync.generation)
    expect(task!.params.keys!.map(({ fingerprint }) => fingerprint)).toEqual([own.fingerprint, his.fingerprint].sort())
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([own.fingerprint, his.fingerprint].sort())
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active', runtime_sync: { status: 'applied' } })
    const [row] = await live.sql<{ username_on_node: string }>('select username_on_node from allocations where id = $1', [id])
    expect(stage.model.held.get(id)!.username).toBe(row!.username_on_node)
  })

  test('SG-12 it is recorded with allocation, project, grantee, fingerprint and task; so is taking it back', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const grant = await stage.granted('amara', id, 'axel', his)
    const revoked = await stage.done(stage.revoke('amara', id, grant.id), 200)
    const about = {
      allocation_id: id,
      project_id: project.aurora,
      grantee_user_id: user('axel'),
      ssh_key_id: his.id,
      fingerprint: his.fingerprint,
    }
    const [made] = await stage.recordOf('allocation.access_grant.create', grant.id)
    expect(made).toMatchObject({
      tenant_id: org.aurora,
      project_id: project.aurora,
      actor_id: user('amara'),
      severity: 'info',
      metadata: { ...about, sync_task_id: grant.runtime_sync.task_id },
    })
    const [ended] = await stage.recordOf('allocation.access_grant.revoke', grant.id)
    expect(ended).toMatchObject({ metadata: { ...about, cause: 'revoked', sync_task_id: revoked.runtime_sync.task_id } })
    expect(revoked.runtime_sync.task_id).not.toBe(grant.runtime_sync.task_id)
    expect(JSON.stringify([made, ended])).not.toContain('AAAA')
  })

  test('SG-07 replacing the owner’s keys keeps grants, revoking a grant keeps the owner’s keys', async () => {
    const [first, second, his] = [await stage.key('asha'), await stage.key('asha'), await stage.key('axel')]
    const { id } = await stage.allocation('asha', [first])
    const grant = await stage.granted('asha', id, 'axel', his)
    await stage.done(live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids: [second.id] } }), 200)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([second.fingerprint, his.fingerprint].sort())
    await stage.done(stage.revoke('asha', id, grant.id), 200)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([second.fingerprint])
  })

  test('SG-08 before there is a node a grant is stored, and is in the first set', async () => {
    const [own, his] = [await stage.key('asha'), await stage.key('axel')]
    const { id } = await stage.allocation('asha', [own], false)
    const grant = await stage.granted('asha', id, 'axel', his)
    expect(grant).toMatchObject({ state: 'active', runtime_sync: { status: 'pending', generation: null } })
    expect(grant.runtime_sync).not.toHaveProperty('task_id')
    expect((await stage.tasksOf(id)).map(({ type }) => type)).toEqual(['allocation.provision_user'])
    // The account is there; the first set is on its way.
    await stage.model.step()
    const tasks = await stage.tasksOf(id)
    expect(tasks.map(({ type }) => type)).toEqual(['allocation.provision_user', 'allocation.install_authorized_keys'])
    expect(await stage.seen(id, grant.id)).toMatchObject({
      runtime_sync: { status: 'pending', generation: Number(tasks[1]!.generation), task_id: tasks[1]!.id },
    })
    await stage.model.settle()
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active', runtime_sync: { status: 'applied' } })
    expect(stage.onNode(id)).toEqual([own.fingerprint, his.fingerprint].sort())
  })

  test('SG-08 one that was taken back before anything was sent was never on a node, and says so', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation('asha', [], false)
    const grant = await stage.granted('asha', id, 'axel', his)
    const revoked = await stage.done(stage.revoke('asha', id, grant.id), 200)
    expect(revoked).toMatchObject({ state: 'revoked', end_cause: 'revoked', runtime_sync: { status: 'applied', generation: null } })
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([])
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'revoked', runtime_sync: { status: 'applied', generation: null } })
  })
})

describe('asking again', () => {
  test('SG-13 the same triple moves the end (200, recorded as updated); an identical repeat changes and records nothing', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const [earlier, later] = [soon(1), soon(2)]
    const grant = await stage.granted('asha', id, 'axel', his, { expires_at: earlier })
    const moved = await stage.grant('asha', id, 'axel', his, { expires_at: later })
    expect([moved.status, moved.body]).toMatchObject([200, { id: grant.id, expires_at: later, state: 'active' }])
    expect(moved.body.runtime_sync.generation).toBeGreaterThan(grant.runtime_sync.generation)
    const rows = await stage.recordOf('allocation.access_grant.create', grant.id)
    expect(rows.map(({ metadata }) => [metadata.updated, metadata.expires_at])).toEqual([
      [undefined, earlier],
      [true, later],
    ])
    const tasks = await stage.tasksOf(id)
    const again = await stage.grant('asha', id, 'axel', his, { expires_at: later })
    expect([again.status, again.body]).toEqual([200, moved.body])
    expect(await stage.tasksOf(id)).toEqual(tasks)
    expect(await stage.recordOf('allocation.access_grant.create', grant.id)).toHaveLength(2)
    // Another reason is kept, and is a change; none at all leaves the one there was.
    const reasoned = await stage.grant('asha', id, 'axel', his, { expires_at: later, reason: 'on call' })
    expect([reasoned.status, reasoned.body]).toMatchObject([200, { expires_at: later, reason: 'on call' }])
    expect((await stage.grant('asha', id, 'axel', his, { expires_at: later })).body).toEqual(reasoned.body)
    expect((await stage.grant('asha', id, 'axel', his, { expires_at: later, reason: 'on call' })).body).toEqual(reasoned.body)
    const changed = await stage.recordOf('allocation.access_grant.create', grant.id)
    expect(changed.map(({ metadata }) => [metadata.updated, metadata.former_expires_at, metadata.reason])).toEqual([
      [undefined, undefined, null],
      [true, earlier, null],
      [true, later, 'on call'],
    ])
    // Without an end it has none any more.
    const endless = await stage.grant('asha', id, 'axel', his)
    expect([endless.status, endless.body.expires_at]).toEqual([200, null])
  })

  test('SG-13 two at once are one 201 and one 200, and one grant', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const other = await live.replica()
    const ask = (base: string) =>
      live.ask('asha', createAccessGrant, {
        params: { allocation_id: id },
        body: { grantee_user_id: user('axel'), ssh_key_id: his.id },
        base,
      })
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all([live.url, other.url, live.url, other.url].map(ask))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201])
      const ids = new Set(answers.map(({ body }) => body.id))
      expect(ids.size).toBe(1)
      await stage.done(stage.revoke('asha', id, [...ids][0] as string), 200)
    }
  })

  test('SG-13 one that has ended is not revived: who asks again gets another', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const first = await stage.granted('asha', id, 'axel', his)
    await stage.done(stage.revoke('asha', id, first.id), 200)
    const second = await stage.granted('asha', id, 'axel', his)
    expect(second.id).not.toBe(first.id)
    expect(codes(await stage.revoke('asha', id, first.id))).toEqual([409, 'state_conflict'])
  })

  test('SG-13 a repeated Idempotency-Key answers the same without another task', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const sending = { body: { grantee_user_id: user('axel'), ssh_key_id: his.id }, headers: { 'idempotency-key': `once-${id}` } }
    const [first, second] = [
      await live.ask('asha', createAccessGrant, { params: { allocation_id: id }, ...sending }),
      await live.ask('asha', createAccessGrant, { params: { allocation_id: id }, ...sending }),
    ]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    expect((await stage.tasksOf(id)).filter(({ state }) => state === 'queued')).toHaveLength(1)
  })
})

describe('two that share one key', () => {
  test('SG-07 the key stays on the node as long as one of those who hold it may enter', async () => {
    const line = newKeyLine()
    const [owners, granted] = [await stage.key('asha', line), await stage.key('axel', line)]
    expect(granted.fingerprint).toBe(owners.fingerprint)
    const { id } = await stage.allocation('asha', [owners])
    const grant = await stage.granted('asha', id, 'axel', granted)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([owners.fingerprint])
    await stage.done(live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids: [] } }), 200)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([owners.fingerprint])
    await stage.done(stage.revoke('axel', id, grant.id), 200)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([])
  })
})

describe('SG-02 S4 for whom: refused, and nothing queued', () => {
  const refusedFor = async (grantee: string, key: { id: string; fingerprint: string }, id?: string) => {
    const allocation_id = id ?? (await stage.allocation()).id
    const before = await stage.tasksOf(allocation_id)
    const answered = await stage.grant('amara', allocation_id, grantee, key)
    expect(await stage.tasksOf(allocation_id)).toEqual(before)
    const rows = await live.sql('select from allocation_access_grants where allocation_id = $1 and ended_at is null', [allocation_id])
    expect(rows).toEqual([])
    return codes(answered)
  }

  test.each([
    ['a stranger of another tenant', 'bodo'],
    ['a member of the organization who is not in the project', 'anna'],
    ['a tenant admin who is not in the project', 'adam'],
    ['somebody unknown', 'nobody-of-that-name'],
  ])('SG-02 %s is no grantee', async (_who, grantee) => {
    const key = grantee === 'nobody-of-that-name' ? await stage.key('axel') : await stage.key(grantee)
    expect(await refusedFor(grantee, key)).toEqual([409, 'grantee_not_member'])
  })

  test('SG-02 a tenant admin who is not in the project cannot let himself in', async () => {
    const key = await stage.key('adam')
    const { id } = await stage.allocation()
    expect(codes(await stage.grant('adam', id, 'adam', key))).toEqual([409, 'grantee_not_member'])
  })

  test('SG-02 somebody who is only invited, was removed, or is disabled is no grantee', async () => {
    const place = await liveServer()
    const there = await accessStage(place)
    try {
      const { id } = await there.allocation()
      const keys = { bodo: await there.key('bodo'), axel: await there.key('axel'), aldo: await there.key('aldo') }
      const offer = { email: 'bodo@borealis.example', role_name: 'tenant_viewer' }
      await there.done(place.ask('alice', inviteToOrganization, { params: { org_id: org.aurora }, body: offer }), 201)
      expect(codes(await there.grant('amara', id, 'bodo', keys.bodo))).toEqual([409, 'grantee_not_member'])
      await there.done(
        place.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: user('axel') }, body: {} }),
        204,
      )
      expect(codes(await there.grant('amara', id, 'axel', keys.axel))).toEqual([409, 'grantee_not_member'])
      await there.done(place.ask('ada', disableUser, { params: { user_id: user('aldo') }, body: { reason: 'gone' } }), 200)
      expect(codes(await there.grant('amara', id, 'aldo', keys.aldo))).toEqual([409, 'grantee_not_member'])
      expect(await place.sql('select from allocation_access_grants')).toEqual([])
    } finally {
      await there.stop()
      await place.stop()
    }
  })

  test('SG-02 the key of somebody else, a deleted one and an unknown one are not found', async () => {
    expect(await refusedFor('axel', await stage.key('aldo'))).toEqual([404, 'ssh_key_not_found'])
    const gone = await stage.key('axel')
    await stage.done(live.ask('axel', deleteSshKey, { params: { ssh_key_id: gone.id }, body: {} }), 204)
    expect(await refusedFor('axel', gone)).toEqual([404, 'ssh_key_not_found'])
    expect(await refusedFor('axel', { id: user('nothing'), fingerprint: '' })).toEqual([404, 'ssh_key_not_found'])
  })

  test('SG-02 a key of the project’s automation is not personal, and one of another project is not found', async () => {
    expect(await refusedFor('axel', await stage.projectKey())).toEqual([409, 'ssh_key_not_personal'])
    expect(await refusedFor('axel', await stage.projectKey('birgit', newKeyLine(), project.borealis))).toEqual([404, 'ssh_key_not_found'])
  })

  test.each(['releasing', 'released', 'failed', 'release_failed'])('SG-02 nobody is let into an allocation that is %s', async (state) => {
    const key = await stage.key('axel')
    const { id } = await stage.allocation()
    await live.sql(`update allocations set state = $2, cleared_at = case when $2 = 'released' then now() end where id = $1`, [id, state])
    expect(await refusedFor('axel', key, id)).toEqual([409, 'allocation_not_active'])
  })

  test.each(['requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed'])(
    'SG-02 taking back works where the allocation is %s',
    async (state) => {
      const key = await stage.key('axel')
      const { id } = await stage.allocation()
      const grant = await stage.granted('amara', id, 'axel', key)
      await live.sql(
        `update allocations set state = $2, cleared_at = case when $2 = 'released' then now() end,
                node_id = case when $2 = 'requested' then null else node_id end,
                username_on_node = case when $2 = 'requested' then null else username_on_node end where id = $1`,
        [id, state],
      )
      const revoked = await stage.revoke('amara', id, grant.id)
      expect([revoked.status, revoked.body.end_cause]).toEqual([200, 'revoked'])
      expect(codes(await stage.revoke('amara', id, grant.id))).toEqual([409, 'state_conflict'])
    },
  )

  test('SG-13 an end in the past is refused as such, and so are unknown members', async () => {
    const key = await stage.key('axel')
    const { id } = await stage.allocation()
    const past = await stage.grant('asha', id, 'axel', key, { expires_at: '2020-01-01T00:00:00.000Z' })
    expect([codes(past), past.body.details]).toEqual([
      [400, 'validation_error'],
      { fields: [{ in: 'body', field: 'expires_at', message: 'must lie in the future' }] },
    ])
    expect(codes(await stage.grant('asha', id, 'axel', key, { username: 'root' }))).toEqual([400, 'validation_error'])
  })

  test('SG-02 the order of refusals: who asks, then for whom, then which key, then the state', async () => {
    const { id } = await stage.allocation()
    await live.sql(`update allocations set state = 'releasing' where id = $1`, [id])
    const nothing = { id: user('nothing'), fingerprint: '' }
    expect(codes(await stage.grant('axel', id, 'bodo', nothing))).toEqual([403, 'insufficient_permissions'])
    expect(codes(await stage.grant('amara', id, 'bodo', nothing))).toEqual([409, 'grantee_not_member'])
    expect(codes(await stage.grant('amara', id, 'axel', nothing))).toEqual([404, 'ssh_key_not_found'])
    expect(codes(await stage.grant('amara', id, 'axel', await stage.key('axel')))).toEqual([409, 'allocation_not_active'])
  })

  test('SG-01 there are as many active grants on an allocation as policy allows: a hundred, unless it says otherwise', async () => {
    const { id } = await stage.allocation()
    const [key, other] = [await stage.key('axel'), await stage.key('axel')]
    await live.sql(
      `with k as (
         insert into ssh_public_keys (id, user_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
         select gen_random_uuid(), $2, 'n', 'ssh-ed25519', 256, repeat('A', 60) || n, 'SHA256:' || lpad(n::text, 43, '0'), now(), 'user', $2
           from generate_series(1, 100) as n returning id)
       insert into allocation_access_grants (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at)
       select gen_random_uuid(), $1, $3, $2, k.id, i.epoch, now(), $2, now() from k cross join installation i`,
      [id, user('axel'), project.aurora],
    )
    const refused = await stage.grant('asha', id, 'axel', key)
    const policy = 'access.max_grants_per_allocation'
    expect([codes(refused), refused.body.details]).toEqual([[409, 'limit_reached'], { policy, limit: 100 }])
    await live.setPolicy(policy, 101)
    expect((await stage.grant('asha', id, 'axel', key)).status).toBe(201)
    await live.setPolicy(policy, 100)
    expect((await stage.grant('asha', id, 'axel', other)).body.details).toEqual({ policy, limit: 100 })
    await live.sql(
      `update allocation_access_grants set ended_at = now(), end_cause = 'revoked'
        where id in (select id from allocation_access_grants where allocation_id = $1 limit 2)`,
      [id],
    )
    expect((await stage.grant('asha', id, 'axel', other)).status).toBe(201)
  })
})
