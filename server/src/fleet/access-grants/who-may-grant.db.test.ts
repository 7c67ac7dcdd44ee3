import { createAccessGrant, listAccessGrants, revokeAccessGrant } from '@gatehouse/contract/access-grants'
import { nameAllocationOwner, releaseAllocation } from '@gatehouse/contract/allocations'
import { addProjectMember, removeOrganizationMember, removeProjectMember } from '@gatehouse/contract/members'
import { deleteSshKey, listMemberSshKeys } from '@gatehouse/contract/ssh-keys'
import { describe, expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { crowd } from '../../../../test/crowd.ts'
import { fixture } from '../../../../test/fixture.ts'
import { type Answered, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'

const { project, org, user } = seeded
const live = serverFixture()
const stage = stageFixture(live)
const his = fixture(() => stage.key('axel'))

const codes = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code].filter((each) => each !== undefined)
const denied = (reason: string) => [403, 'insufficient_permissions', reason]
const unseen = [404, 'allocation_not_found']

/** Of the platform's people only the superadmins; in the tenant its owner and admins; in the project its owner and admins. */
const who: Readonly<Record<string, 'may' | (string | number)[]>> = {
  ada: 'may',
  grace: 'may',
  alice: 'may',
  adam: 'may',
  amara: 'may',
  aldo: 'may',
  otto: denied('membership_missing'),
  anna: denied('membership_missing'),
  abel: denied('membership_missing'),
  agnes: denied('membership_missing'),
  arne: denied('membership_missing'),
  asha: denied('permission_denied'),
  axel: denied('permission_denied'),
  ...Object.fromEntries(
    ['bella', 'boris', 'bjorn', 'beate', 'bruno', 'bryn', 'berta', 'basil', 'birgit', 'bodo'].map((name) => [name, unseen]),
  ),
}

describe('S3 who may let people in, and take it back', () => {
  // Nobody's: asked for by the project's owner, who has it by his role anyway.
  const allocation = () => stage.allocation('amara')

  test('SG-03 everybody that is seeded is in the table', () => {
    expect(Object.keys(who).sort()).toEqual([...seeded.usernames].sort())
  })

  test.each(Object.entries(who))('SG-03 SG-04 S3 %s', async (person, expected) => {
    const { id } = await allocation()
    const before = await live.sql('select count(*) from node_tasks')
    const made = await stage.grant(person, id, 'aldo', await stage.key('aldo'))
    if (expected === 'may') {
      expect([made.status, made.body.state]).toEqual([201, 'active'])
      expect((await stage.revoke(person, id, made.body.id)).status).toBe(200)
      expect((await stage.list(person, id)).status).toBe(200)
      return
    }
    expect(codes(made)).toEqual(expected)
    expect(await live.sql('select count(*) from node_tasks')).toEqual(before)
    // The refusal is on record, in the tenant's own log only where he belongs to it.
    const [row] = await live.auditOf(made.headers.get('x-request-id')!)
    const isOwn = person.startsWith('a')
    expect(row).toMatchObject({
      action: 'allocation.access_grant.create',
      result: 'denied',
      actor_id: user(person),
      tenant_id: isOwn ? org.aurora : null,
    })
    const grant = await stage.granted('amara', id, 'aldo', await stage.key('aldo'))
    expect(codes(await stage.revoke(person, id, grant.id))).toEqual(expected)
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active' })
  })

  test('SG-03 S3 the allocation’s owner may, with no more than a member’s or a viewer’s role; who does not own it may not', async () => {
    const { id } = await stage.allocation('asha')
    const grant = await stage.granted('asha', id, 'axel', his)
    expect((await stage.revoke('asha', id, grant.id)).status).toBe(200)
    await stage.done(live.ask('amara', nameAllocationOwner, { params: { allocation_id: id }, body: { user_id: user('axel') } }), 200)
    const key = await stage.key('aldo')
    expect(codes(await stage.grant('asha', id, 'aldo', key))).toEqual(denied('permission_denied'))
    expect((await stage.grant('axel', id, 'aldo', key)).status).toBe(201)
    await stage.done(live.ask('amara', nameAllocationOwner, { params: { allocation_id: id }, body: { user_id: user('amara') } }), 200)
    expect(codes(await stage.grant('axel', id, 'aldo', key))).toEqual(denied('permission_denied'))
  })

  test('SG-03 S3 who has owned it and left the project has nothing there, nor when he is back', async () => {
    const [owner] = await crowd(live, 1)
    await live.sql(
      `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
       select gen_random_uuid(), $1, 'user', $2, current_version_id, now() from role_definitions where name = 'project_member' and is_builtin`,
      [project.aurora, owner!.id],
    )
    const { id } = await stage.allocation(owner!.subject)
    const key = await stage.key('aldo')
    const grant = await stage.granted(owner!.subject, id, 'aldo', key)
    await stage.done(live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: owner!.id }, body: {} }), 204)
    const tries = async () => [
      codes(await stage.grant(owner!.subject, id, 'aldo', key)),
      codes(await stage.revoke(owner!.subject, id, grant.id)),
    ]
    expect(await tries()).toEqual([denied('membership_missing'), denied('membership_missing')])
    await stage.done(
      live.ask('amara', addProjectMember, {
        params: { project_id: project.aurora },
        body: { user_id: owner!.id, role_name: 'project_viewer' },
      }),
      201,
    )
    expect(await tries()).toEqual([denied('permission_denied'), denied('permission_denied')])
    await stage.done(live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: owner!.id }, body: {} }), 204)
    expect(await tries()).toEqual([unseen, unseen])
  })

  test('SG-04 S3 the grantee may take back his own, whatever his role, and no other’s', async () => {
    const { id } = await allocation()
    const [own, others] = [await stage.granted('amara', id, 'axel', his), await stage.granted('amara', id, 'aldo', await stage.key('aldo'))]
    expect(codes(await stage.revoke('axel', id, others.id))).toEqual(denied('permission_denied'))
    expect(codes(await stage.grant('axel', id, 'axel', his, { expires_at: '2099-01-01T00:00:00.000Z' }))).toEqual(
      denied('permission_denied'),
    )
    const revoked = await stage.revoke('axel', id, own.id)
    expect([revoked.status, revoked.body]).toMatchObject([200, { end_cause: 'revoked', ended_by: user('axel') }])
    // In another allocation it is not the same grant.
    const { id: elsewhere } = await allocation()
    expect(codes(await stage.revoke('amara', elsewhere, others.id))).toEqual([404, 'access_grant_not_found'])
    expect(codes(await stage.revoke('aldo', elsewhere, others.id))).toEqual([404, 'access_grant_not_found'])
    expect(codes(await stage.revoke('axel', elsewhere, others.id))).toEqual(denied('permission_denied'))
  })

  test('SG-05 S3 service accounts are refused on grants, whatever their role', async () => {
    const { id } = await allocation()
    const grant = await stage.granted('amara', id, 'axel', his)
    for (const role of ['project_member', 'project_viewer']) {
      const { mint } = await machineOn(live.sql, auroraHome, role)
      const scope = ['project.access_grant.manage', 'project.access_grant.read', 'allocation.read']
      const { token } = await mint({ claims: { scope: scope.join(' ') }, row: { scope: `'{${scope.join(',')}}'` } })
      const headers = { authorization: `Bearer ${token}` }
      const asked = [
        await live.ask(null, createAccessGrant, {
          params: { allocation_id: id },
          body: { grantee_user_id: user('axel'), ssh_key_id: his.id },
          headers,
        }),
        await live.ask(null, revokeAccessGrant, { params: { allocation_id: id, grant_id: grant.id }, body: {}, headers }),
        await live.ask(null, listAccessGrants, { params: { allocation_id: id }, headers }),
      ]
      expect(asked.map(codes)).toEqual(asked.map(() => denied('permission_denied')))
    }
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active' })
  })

  test('SG-03 what override gives stands out in the tenant’s log, and it gives nothing to who uses it', async () => {
    const { id } = await allocation()
    const grant = await stage.granted('ada', id, 'axel', his)
    const [row] = await stage.recordOf('allocation.access_grant.create', grant.id)
    expect(row).toMatchObject({ tenant_id: org.aurora, severity: 'high', platform_role: 'platform_superadmin' })
    const own = await stage.key('ada')
    const refused = await stage.grant('ada', id, 'ada', own)
    expect(refused.body.details).toMatchObject({ reason_code: 'permission_denied', detail: 'override_self_grant' })
    expect(refused.status).toBe(403)
  })

  test('SG-03 a foreign allocation and one that does not exist are told alike', async () => {
    const { id } = await allocation()
    const bare = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]
    const nowhere = user('no such allocation')
    for (const ask of [
      (to: string) => stage.grant('bella', to, 'bella', his),
      (to: string) => stage.revoke('bella', to, user('nothing')),
      (to: string) => stage.list('bella', to),
    ])
      expect(bare(await ask(id))).toEqual(bare(await ask(nowhere)))
  })
})

describe('who sees grants', () => {
  test('SG-13 members see all of them, a grantee without more rights his own, and nobody else any', async () => {
    const [mine, theirs] = [await stage.key('axel'), await stage.key('aldo')]
    const { id } = await stage.allocation('asha')
    // A viewer reads grants by no role; he sees what he was given himself.
    expect(codes(await stage.list('axel', id))).toEqual(denied('permission_denied'))
    const own = await stage.granted('asha', id, 'axel', mine)
    const other = await stage.granted('asha', id, 'aldo', theirs)
    const idsFor = async (person: string, query = '') =>
      (await stage.list(person, id, query)).body.items.map((each: { id: string }) => each.id)
    expect(await idsFor('axel')).toEqual([own.id])
    for (const person of ['asha', 'aldo', 'amara', 'alice', 'adam', 'ada']) expect(await idsFor(person)).toEqual([own.id, other.id])
    for (const person of ['anna', 'arne', 'otto']) expect((await stage.list(person, id)).status).toBe(403)
    expect(codes(await stage.list('bella', id))).toEqual(unseen)
    await stage.done(stage.revoke('axel', id, own.id), 200)
    expect(await idsFor('axel')).toEqual([own.id])
    expect(await idsFor('asha', '?state=active')).toEqual([other.id])
    const page = await stage.list('asha', id, '?limit=1')
    expect(page.body.items.map((each: { id: string }) => each.id)).toEqual([own.id])
    const next = await stage.list('asha', id, `?limit=1&cursor=${page.body.next_cursor}`)
    expect([next.body.items.map((each: { id: string }) => each.id), next.body.next_cursor]).toEqual([[other.id], null])
  })
})

describe('SG-17 a member’s keys, for those who may let him in', () => {
  const keysOf = (person: string, member: string, project_id: string = project.aurora) =>
    live.ask(person, listMemberSshKeys, { params: { project_id, user_id: user(member) } })

  test.each(Object.entries(who).filter(([person]) => person !== 'asha'))('SG-17 as asked by %s', async (person, expected) => {
    const answered = await keysOf(person, 'axel')
    if (expected === 'may') {
      expect(answered.status).toBe(200)
      const key = answered.body.items.find(({ id }: { id: string }) => id === his.id)
      expect(key).toMatchObject({ user_id: user('axel'), key_type: 'ssh-ed25519', fingerprint: his.fingerprint })
      // Type and fingerprint, and no key.
      expect(answered.text).not.toContain('AAAA')
      expect(Object.keys(key!).sort()).toEqual(['bits', 'created_at', 'fingerprint', 'id', 'key_type', 'name', 'user_id'])
      return
    }
    expect(codes(answered)).toEqual(expected === unseen ? [404, 'project_not_found'] : expected)
  })

  test('SG-17 who owns a living allocation there may ask, and no longer when it is over', async () => {
    await live.sql(`update allocations set state = 'releasing' where owner_user_id = $1 and state = 'active'`, [user('asha')])
    expect(codes(await keysOf('asha', 'axel'))).toEqual(denied('permission_denied'))
    const { id } = await stage.allocation('asha')
    expect((await keysOf('asha', 'axel')).status).toBe(200)
    await stage.done(live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} }), 202)
    expect(codes(await keysOf('asha', 'axel'))).toEqual(denied('permission_denied'))
  })

  test('SG-17 somebody who is no member has no keys there, and deleted keys are not told', async () => {
    expect(codes(await keysOf('amara', 'anna'))).toEqual([404, 'member_not_found'])
    expect(codes(await keysOf('amara', 'bodo'))).toEqual([404, 'member_not_found'])
    const gone = await stage.key('aldo')
    await stage.done(live.ask('aldo', deleteSshKey, { params: { ssh_key_id: gone.id }, body: {} }), 204)
    expect((await keysOf('amara', 'aldo')).text).not.toContain(gone.id)
  })
})
