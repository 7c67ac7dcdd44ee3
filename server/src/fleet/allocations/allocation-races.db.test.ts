import { createAccessGrant, revokeAccessGrant } from '@gatehouse/contract/access-grants'
import { nameAllocationOwner, releaseAllocation, replaceAllocationSshKeys } from '@gatehouse/contract/allocations'
import { addProjectMember, removeProjectMember } from '@gatehouse/contract/members'
import { deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { disableUser, enableUser } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { keyOf } from '../../../../test/access-stage.ts'
import { sceneOn } from '../../../../test/allocation-scene.ts'
import { fixture } from '../../../../test/fixture.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { project, user } = seeded

/** The same product as three processes. */
let doors: readonly string[]
const live = serverFixture({}, async (live) => {
  doors = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const scene = fixture(() => sceneOn(live, 1024))
/** The keys that may enter by the tables, apart from whatever was sent. */
const wantedBy = async (id: string) =>
  (
    await live.sql<{ fingerprint: string }>(
      `select distinct k.fingerprint from ssh_public_keys k
        where k.deleted_at is null and (
          exists (select 1 from allocation_ssh_public_keys e where e.allocation_id = $1 and e.ssh_key_id = k.id and e.ended_at is null)
          or exists (select 1 from allocation_access_grants g where g.allocation_id = $1 and g.ssh_key_id = k.id and g.ended_at is null))
        order by 1`,
      [id],
    )
  ).map(({ fingerprint }) => fingerprint)

test('SG-06 SG-10 whatever is changed at the same moment, at whichever server: the last set is the whole one, and no two have one number', async () => {
  const [a, b, c, d] = [await keyOf(live, 'asha'), await keyOf(live, 'asha'), await keyOf(live, 'axel'), await keyOf(live, 'aldo')]
  const id = await scene.active({ ssh_key_ids: [a.id] })
  const at = (index: number) => doors[index % doors.length]
  for (let round = 0; round < 3; round += 1) {
    const sets = [[a.id], [b.id], [a.id, b.id], []]
    const answers = await Promise.all([
      ...sets.map((ssh_key_ids, index) =>
        live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids }, base: at(index) }),
      ),
      ...[c, d].map((key, index) =>
        live.ask('amara', createAccessGrant, {
          params: { allocation_id: id },
          body: { grantee_user_id: user(index === 0 ? 'axel' : 'aldo'), ssh_key_id: key.id },
          base: at(index + round),
        }),
      ),
      live.ask('amara', nameAllocationOwner, { params: { allocation_id: id }, body: { user_id: user('asha') }, base: at(round) }),
      scene.node.step().then(() => ({ status: 200, text: '' })),
    ])
    for (const { status, text } of answers) expect([status, text]).toEqual([expect.toBeOneOf([200, 201]), text])
    const grants = await live.sql<{ id: string }>('select id from allocation_access_grants where allocation_id = $1 and ended_at is null', [
      id,
    ])
    await Promise.all([
      ...grants.map((grant, index) =>
        live.ask('amara', revokeAccessGrant, { params: { allocation_id: id, grant_id: grant.id }, body: {}, base: at(index) }),
      ),
      scene.node.step(),
    ])
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual(await wantedBy(id))
    expect((await scene.read(id)).runtime_sync.status).toBe('applied')
  }
  const numbers = await live.sql<{ n: number; last: number; of: number }>(
    `select count(distinct t.generation)::int as n, max(t.generation)::int as last, min(a.generation)::int as of
       from node_tasks t join allocations a on a.id = t.allocation_id where a.id = $1`,
    [id],
  )
  expect(numbers).toEqual([{ n: numbers[0]!.of, last: numbers[0]!.of, of: numbers[0]!.of }])
})

test('SG-11 S11 asked for with a key while the key, the membership or the person goes: in the end nobody enters with it', async () => {
  const gone: [string, (key: { id: string }) => Promise<unknown>, () => Promise<unknown>][] = [
    ['key', ({ id }) => live.ask('aldo', deleteSshKey, { params: { ssh_key_id: id }, body: {}, base: doors[1] }), async () => {}],
    [
      'membership',
      () =>
        live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: user('aldo') }, body: {}, base: doors[1] }),
      () =>
        live.ask('amara', addProjectMember, {
          params: { project_id: project.aurora },
          body: { user_id: user('aldo'), role_name: 'project_member' },
        }),
    ],
    [
      'person',
      () => live.ask('ada', disableUser, { params: { user_id: user('aldo') }, body: { reason: 'race' }, base: doors[1] }),
      () => live.ask('ada', enableUser, { params: { user_id: user('aldo') }, body: { reason: 'over' } }),
    ],
  ]
  for (let round = 0; round < 3; round += 1)
    for (const [what, go, comeBack] of gone) {
      const key = await keyOf(live, 'aldo')
      const asked = await Promise.all([
        ...doors.map((door) => scene.ask({ ssh_key_ids: [key.id] }, 'aldo', {}, door)),
        new Promise((resolve) => setTimeout(resolve, round * 4)).then(() => go(key)).then(() => undefined),
      ])
      await scene.node.settle()
      for (const answer of asked) {
        if (!answer) continue
        expect([what, answer.status]).toEqual([what, expect.toBeOneOf([201, 403, 404])])
        if (answer.status === 201) expect([what, scene.keysOn(answer.body.id)]).toEqual([what, []])
      }
      await comeBack()
    }
})

test('SG-23 released by several at once, and while the node reports: once, and it ends released', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { body } = await scene.ask()
    if (round % 2 === 1) await scene.node.step()
    const answers = await Promise.all([
      ...doors.map((door) => live.ask('asha', releaseAllocation, { params: { allocation_id: body.id }, body: {}, base: door })),
      scene.node.step().then(() => undefined),
    ])
    const statuses = answers.flatMap((answer) => (answer ? [answer.status] : []))
    expect(statuses.sort()).toEqual([202, 409, 409])
    await scene.node.settle()
    expect((await scene.read(body.id)).state).toBe('released')
    expect(scene.node.held.get(body.id)?.is_there).toBe(false)
  }
})
