import { createAccessGrant } from '@gatehouse/contract/access-grants'
import { releaseAllocation } from '@gatehouse/contract/allocations'
import { removeOrganizationMember, removeProjectMember } from '@gatehouse/contract/members'
import { retireNode } from '@gatehouse/contract/nodes'
import { deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { disableUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { accessStage, type StagedKey, stageFixture } from '../../../../test/access-stage.ts'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { crowd, type Somebody } from '../../../../test/crowd.ts'
import { type Answered, seeded, serverFixture } from '../../../../test/live-server.ts'
import { tendAccess } from './tend-access.ts'

const { project, org } = seeded
const live = serverFixture()
const stage = stageFixture(live)

const beMember = ({ id }: Somebody) =>
  live.sql(
    `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
     select gen_random_uuid(), $1, 'user', $2, current_version_id, now() from role_definitions where name = 'project_member' and is_builtin`,
    [project.aurora, id],
  )

/** Somebody who was let in by another, and has an allocation of his own with the same key in it. */
const settled = async () => {
  const [person] = (await crowd(live, 1)) as [Somebody]
  await beMember(person)
  const [own, others] = [await stage.key(person.subject), await stage.key('asha')]
  const { id } = await stage.allocation('asha', [others])
  const { id: own_id } = await stage.allocation(person.subject, [own])
  const grant = await stage.granted('asha', id, person.id, own)
  const kept = await stage.granted(person.subject, own_id, 'axel', await stage.key('axel'))
  await stage.model.settle()
  expect([stage.onNode(id), stage.onNode(own_id)]).toEqual([
    [own.fingerprint, others.fingerprint].sort(),
    [own.fingerprint, kept.fingerprint].sort(),
  ])
  return { person, own, others, id, own_id, grant, kept }
}

type Ending = (person: Somebody, key: StagedKey, id: string, base?: string) => Promise<Answered>
const endings: Readonly<Record<string, { cause: string; by: Ending; status: number; keeps_entries?: true }>> = {
  'leaving the project': {
    cause: 'project_membership_ended',
    status: 204,
    by: ({ id }, _key, _allocation, base) =>
      live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: id }, body: {}, base }),
  },
  'leaving the organization': {
    cause: 'tenant_membership_ended',
    status: 204,
    by: ({ id }, _key, _allocation, base) =>
      live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: id }, body: {}, base }),
  },
  'deleting the key': {
    cause: 'key_deleted',
    status: 204,
    by: ({ subject }, { id }, _allocation, base) => live.ask(subject, deleteSshKey, { params: { ssh_key_id: id }, body: {}, base }),
  },
  'disabling the person': {
    cause: 'user_disabled',
    status: 200,
    by: ({ id }, _key, _allocation, base) => live.ask('ada', disableUser, { params: { user_id: id }, body: { reason: 'gone' }, base }),
  },
  'releasing the allocation': {
    cause: 'allocation_released',
    status: 202,
    keeps_entries: true,
    by: (_person, _key, id, base) => live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {}, base }),
  },
}

const openGrants = (id: string) =>
  live.sql<{ id: string }>('select id from allocation_access_grants where allocation_id = $1 and ended_at is null', [id])
const entriesOf = (id: string) =>
  live.sql<{ ssh_key_id: string; end_cause: string | null }>(
    'select ssh_key_id, end_cause from allocation_ssh_public_keys where allocation_id = $1',
    [id],
  )

describe('S11 what access rests on ends, and access with it', () => {
  test.each(Object.entries(endings))('SG-11 S11 %s', async (_what, { cause, by, status, keeps_entries }) => {
    const { person, own, others, id, own_id, grant, kept } = await settled()
    const ended = await by(person, own, id)
    expect(ended.status).toBe(status)
    const correlation_id = ended.headers.get('x-request-id')!

    // In the same transaction: the rows, the tasks and the record.
    const told = await stage.seen(id, grant.id)
    expect(told).toMatchObject({ state: 'ending', end_cause: cause, runtime_sync: { status: 'pending' } })
    const tasks = await live.sql<{ id: string; allocation_id: string; type: string }>(
      'select id, allocation_id, type from node_tasks where correlation_id = $1',
      [correlation_id],
    )
    const expected = keeps_entries
      ? [[id, 'allocation.deprovision_user']]
      : [id, own_id].map((each) => [each, 'allocation.install_authorized_keys'])
    expect(tasks.map((each) => [each.allocation_id, each.type]).sort()).toEqual(expected.sort())
    const [row, ...more] = await stage.recordOf('allocation.access_grant.revoke', grant.id)
    expect(more).toEqual([])
    expect(row).toMatchObject({
      correlation_id,
      tenant_id: org.aurora,
      metadata: {
        cause,
        grantee_user_id: person.id,
        fingerprint: own.fingerprint,
        allocation_id: id,
        sync_task_id: tasks.find((each) => each.allocation_id === id)!.id,
      },
    })
    expect(await openGrants(id)).toEqual([])
    if (!keeps_entries) {
      expect(await entriesOf(own_id)).toEqual([{ ssh_key_id: own.id, end_cause: cause }])
      const [entry] = await stage.recordOf('allocation.ssh_keys.end', own_id)
      expect(entry).toMatchObject({
        correlation_id,
        metadata: {
          cause,
          ended: [own.id],
          fingerprints: [own.fingerprint],
          sync_task_id: tasks.find((each) => each.allocation_id === own_id)!.id,
        },
      })
    }

    await stage.model.settle()
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'revoked', end_cause: cause, runtime_sync: { status: 'applied' } })
    // What is others' stays as it was.
    expect(stage.onNode(id)).toEqual(keeps_entries ? [] : [others.fingerprint])
    expect(stage.onNode(own_id)).toEqual(keeps_entries ? [own.fingerprint, kept.fingerprint].sort() : [kept.fingerprint])
    expect(await stage.seen(own_id, kept.id)).toMatchObject({ state: 'active', runtime_sync: { status: 'applied' } })
  })

  test('SG-11 a retired node never says that a key is gone, and neither do we', async () => {
    const apart = await accessStage(live, {}, { region: 'eu-2', sku: 'a100' })
    const key = await apart.key('axel')
    const { id } = await apart.allocation()
    const grant = await apart.granted('asha', id, 'axel', key)
    await apart.model.settle()
    await apart.done(live.ask('ada', retireNode, { params: { node_id: apart.node.id }, body: { reason: 'burnt' } }), 200)
    expect(await apart.seen(id, grant.id)).toMatchObject({ state: 'ending', end_cause: 'node_retired', runtime_sync: { status: 'failed' } })
    const [row] = await apart.recordOf('allocation.access_grant.revoke', grant.id)
    expect(row).toMatchObject({ metadata: { cause: 'node_retired' } })
    await apart.stop()
  })

  test('SG-11 an allocation that comes to nothing ends its grants', async () => {
    const apart = await accessStage(
      live,
      { fail: ({ type }) => (type === 'allocation.provision_user' ? 'no_space' : undefined) },
      { region: 'eu-3', sku: 'a100' },
    )
    const key = await apart.key('axel')
    const { id } = await apart.allocation('asha', [], false)
    const grant = await apart.granted('asha', id, 'axel', key)
    await apart.model.step()
    // Nothing of it ever was on the node.
    expect(await apart.seen(id, grant.id)).toMatchObject({
      state: 'revoked',
      end_cause: 'allocation_failed',
      runtime_sync: { status: 'applied' },
    })
    await apart.stop()
  })

  test('SG-06 SG-11 where the node cannot be told, nothing ends: all of it or none', async () => {
    const { person, own, id, grant } = await settled()
    const cannot = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, { of: 'insert into node_tasks', instead: () => Promise.reject(new Error('no room')) }),
    }))
    for (const [what, { by }] of Object.entries(endings)) {
      const answered = await by(person, own, id, cannot.url)
      expect([what, answered.status]).toEqual([what, 500])
    }
    expect((await stage.revoke('asha', id, grant.id, cannot.url)).status).toBe(500)
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active' })
    const rows = await live.sql(
      `select from project_memberships m join users u on u.id = m.user_id and u.disabled_at is null
         join ssh_public_keys k on k.user_id = u.id and k.deleted_at is null where u.id = $1 and m.deleted_at is null`,
      [person.id],
    )
    expect(rows).toHaveLength(1)
  })

  test('SG-11 S11 the check finds a build that forgets grants when somebody leaves', async () => {
    const { person, own, id } = await settled()
    const forgetful = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, { of: /union\s+select e\.allocation_id/, rows: () => [] }),
    }))
    expect((await endings['leaving the project']!.by(person, own, id, forgetful.url)).status).toBe(204)
    expect(await openGrants(id)).toHaveLength(1)
  })
})

/** Waits until somebody in this database waits for somebody else. */
const blocked = async () => {
  const waiting = `select from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.datname = current_database() where not l.granted limit 1`
  await expect.poll(() => live.sql(waiting)).toHaveLength(1)
}

describe('while a grant is being made', () => {
  /** A server that stops when it has changed something and has recorded nothing yet, until it is told to go on. */
  const stopping = async (unlocked = false) => {
    const [arrived, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const strip = { of: / for (no key update|share)/, text: (text: string) => text.replaceAll(/\s+for (no key update|share)/g, '') }
    const pause = {
      of: /^\s*(?:with moved as \(\s*)?(insert into allocation_access_grants|update (project_memberships|tenant_memberships|ssh_public_keys|users|allocations\s+set state))/,
      after: () => {
        arrived.resolve()
        return go.promise
      },
    }
    const { url } = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(parts.database, pause, ...(unlocked ? [strip] : [])),
    }))
    return { url, arrived: arrived.promise, go: go.resolve }
  }
  const newcomer = async () => {
    const [person] = (await crowd(live, 1)) as [Somebody]
    const key = await stage.key(person.subject)
    const { id } = await stage.allocation()
    const ask = (base?: string) =>
      live.ask('asha', createAccessGrant, { params: { allocation_id: id }, body: { grantee_user_id: person.id, ssh_key_id: key.id }, base })
    return { person, key, id, ask }
  }

  test.each(Object.entries(endings))('SG-11 %s waits for it, and then ends it', async (_what, { by, cause, status }) => {
    const { person, key, id, ask } = await newcomer()
    const slow = await stopping()
    const making = ask(slow.url)
    await slow.arrived
    const ending = by(person, key, id)
    await blocked().finally(slow.go)
    expect([(await making).status, (await ending).status]).toEqual([201, status])
    expect(await openGrants(id)).toEqual([])
    expect(await stage.seen(id, (await making).body.id)).toMatchObject({ end_cause: cause })
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([])
  })

  const refusals: Readonly<Record<string, [number, string]>> = {
    'leaving the project': [409, 'grantee_not_member'],
    'leaving the organization': [409, 'grantee_not_member'],
    'deleting the key': [404, 'ssh_key_not_found'],
    'disabling the person': [409, 'grantee_not_member'],
    'releasing the allocation': [409, 'allocation_not_active'],
  }
  test.each(Object.entries(endings))('SG-11 it waits for %s, and is refused', async (what, { by, status }) => {
    const { person, key, id, ask } = await newcomer()
    const slow = await stopping()
    const ending = by(person, key, id, slow.url)
    await slow.arrived
    const making = ask()
    await blocked().finally(slow.go)
    expect((await ending).status).toBe(status)
    const { status: refused, body } = await making
    expect([refused, body.code]).toEqual(refusals[what])
    expect(await openGrants(id)).toEqual([])
  })

  test('SG-11 the check finds a build that holds nothing: a grant outlives its membership', async () => {
    const { person, key, id, ask } = await newcomer()
    const slow = await stopping(true)
    const making = ask(slow.url)
    await slow.arrived
    const ended = await endings['leaving the project']!.by(person, key, id)
    slow.go()
    expect([ended.status, (await making).status]).toEqual([204, 201])
    expect(await openGrants(id)).toHaveLength(1)
  })
})

describe('time', () => {
  const tending = async () => {
    const { database, append, tasking } = await live.replica()
    return { database, append, signing: tasking.tasks.signing }
  }
  const later = () => new Date(Date.now() + 3600_000).toISOString()
  /** Its time is over now, and nobody was told. */
  const endNow = async (grant_id: string): Promise<string> => {
    const [row] = await live.sql<{ expires_at: Date }>(
      `update allocation_access_grants set expires_at = date_trunc('milliseconds', clock_timestamp()) where id = $1 returning expires_at`,
      [grant_id],
    )
    return row!.expires_at.toISOString()
  }

  test('SG-11 a grant whose time is over is not active from that instant, is ended, and gone when the node says so', async () => {
    const [own, his] = [await stage.key('asha'), await stage.key('axel')]
    const { id } = await stage.allocation('asha', [own])
    const grant = await stage.granted('asha', id, 'axel', his, { expires_at: later() })
    await stage.model.settle()
    expect(stage.onNode(id)).toContain(his.fingerprint)
    const expires_at = await endNow(grant.id)
    // Nobody has ended it yet; it is over all the same.
    const over = await stage.seen(id, grant.id)
    expect(over).toMatchObject({ state: 'ending', end_cause: 'expired', ended_at: expires_at, runtime_sync: { status: 'pending' } })
    expect((await stage.list('asha', id, '?state=active')).body.items).toEqual([])
    expect((await stage.list('asha', id, '?state=ending')).body.items).toHaveLength(1)
    const tended = await tending()
    expect(await Promise.all([tendAccess(tended), tendAccess(tended)])).toEqual(expect.arrayContaining([0, 1]))
    expect(await tendAccess(tended)).toBe(0)
    const [row, ...more] = await stage.recordOf('allocation.access_grant.revoke', grant.id)
    expect(more).toEqual([])
    expect(row).toMatchObject({ actor_type: 'system', actor_id: 'access_tending', tenant_id: org.aurora, metadata: { cause: 'expired' } })
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'ending', ended_by: null })
    await stage.model.settle()
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'expired', runtime_sync: { status: 'applied' } })
    expect(stage.onNode(id)).toEqual([own.fingerprint])
  })

  test('SG-11 with a grant that has expired the same key goes out of the allocation’s own keys, and no other of the same person’s', async () => {
    const [own, other] = [await stage.key('asha'), await stage.key('asha')]
    const { id } = await stage.allocation('asha', [own, other])
    const expires_at = later()
    const grant = await stage.granted('asha', id, 'asha', own, { expires_at })
    await stage.model.settle()
    // It ends on the node by itself as well, though it is there for two reasons.
    const sent = (await stage.tasksOf(id)).at(-1)!.params.keys as { fingerprint: string; expires_at: string | null }[]
    expect(new Map(sent.map((key) => [key.fingerprint, key.expires_at]))).toEqual(
      new Map([
        [own.fingerprint, expires_at],
        [other.fingerprint, null],
      ]),
    )
    await endNow(grant.id)
    await tendAccess(await tending())
    expect(await entriesOf(id)).toEqual(
      expect.arrayContaining([
        { ssh_key_id: own.id, end_cause: 'expired' },
        { ssh_key_id: other.id, end_cause: null },
      ]),
    )
    const [row] = await stage.recordOf('allocation.ssh_keys.end', id)
    expect(row).toMatchObject({ metadata: { cause: 'expired', ended: [own.id], fingerprints: [own.fingerprint] } })
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([other.fingerprint])
  })

  test('SG-13 who asks again after the end gets another grant, and the former is ended', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const grant = await stage.granted('asha', id, 'axel', his, { expires_at: later() })
    await endNow(grant.id)
    const another = await stage.granted('asha', id, 'axel', his)
    expect(another.id).not.toBe(grant.id)
    await stage.model.settle()
    expect([await stage.seen(id, grant.id), await stage.seen(id, another.id)]).toMatchObject([{ state: 'expired' }, { state: 'active' }])
    expect(stage.onNode(id)).toEqual([his.fingerprint])
  })

  test('SG-11 a restored backup revives no grant, and its nodes are told with a generation that they cannot have seen', async () => {
    const his = await stage.key('axel')
    const { id } = await stage.allocation()
    const grant = await stage.granted('asha', id, 'axel', his)
    await stage.model.settle()
    await live.sql('update installation set epoch = epoch + 1')
    // The node enrols anew in truth; here it is only about its keys.
    await live.sql('update node_certificates c set epoch = i.epoch from installation i')
    const other = await live.replica()
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'ending', end_cause: 'backup_restored' })
    expect((await stage.list('asha', id, '?state=active')).body.items).toEqual([])
    const signing = other.tasking.tasks.signing
    await tendAccess({ database: other.database, append: other.append, signing })
    const [row] = await stage.recordOf('allocation.access_grant.revoke', grant.id)
    expect(row).toMatchObject({ metadata: { cause: 'backup_restored' } })
    expect(Number(row!.metadata.generation)).toBeGreaterThan(1_000_000_000)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([])
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'revoked', end_cause: 'backup_restored' })
  })
})
