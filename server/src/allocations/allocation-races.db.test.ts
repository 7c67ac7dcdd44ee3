import { expect, test } from 'vitest'
import { keyOf } from '../../../test/access-stage.ts'
import { sceneOn } from '../../../test/allocation-scene.ts'
import { fixture } from '../../../test/fixture.ts'
import { seeded, serverFixture } from '../../../test/live-server.ts'

const { project, user } = seeded

/** The same product as three processes. */
let doors: readonly string[]
const live = serverFixture({}, async (live) => {
  doors = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const scene = fixture(() => sceneOn(live, 1024))

const path = (id: string, more = '') => `/api/v1/allocations/${id}${more}`
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
      ...sets.map((ssh_key_ids, index) => live.call('asha', 'PUT', path(id, '/ssh-keys'), { body: { ssh_key_ids } }, at(index))),
      ...[c, d].map((key, index) =>
        live.call(
          'amara',
          'POST',
          path(id, '/access-grants'),
          { body: { grantee_user_id: user(index === 0 ? 'axel' : 'aldo'), ssh_key_id: key.id } },
          at(index + round),
        ),
      ),
      live.call('amara', 'PUT', path(id, '/owner'), { body: { user_id: user('asha') } }, at(round)),
      scene.node.step().then(() => ({ status: 200, text: '' })),
    ])
    for (const { status, text } of answers) expect([status, text]).toEqual([expect.toBeOneOf([200, 201]), text])
    const grants = await live.sql<{ id: string }>('select id from allocation_access_grants where allocation_id = $1 and ended_at is null', [
      id,
    ])
    await Promise.all([
      ...grants.map((grant, index) => live.call('amara', 'DELETE', path(id, `/access-grants/${grant.id}`), { body: {} }, at(index))),
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
  const members = `/api/v1/projects/${project.aurora}/members`
  const gone: [string, (key: { id: string }) => Promise<unknown>, () => Promise<unknown>][] = [
    ['key', ({ id }) => live.call('aldo', 'DELETE', `/api/v1/ssh-keys/${id}`, { body: {} }, doors[1]), async () => {}],
    [
      'membership',
      () => live.call('amara', 'DELETE', `${members}/${user('aldo')}`, { body: {} }, doors[1]),
      () => live.call('amara', 'POST', members, { body: { user_id: user('aldo'), role_name: 'project_member' } }),
    ],
    [
      'person',
      () => live.call('ada', 'POST', `/api/v1/admin/users/${user('aldo')}/disable`, { body: { reason: 'race' } }, doors[1]),
      () => live.call('ada', 'POST', `/api/v1/admin/users/${user('aldo')}/enable`, { body: { reason: 'over' } }),
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
      ...doors.map((door) => live.call('asha', 'POST', path(body.id, '/release'), { body: {} }, door)),
      scene.node.step().then(() => undefined),
    ])
    const statuses = answers.flatMap((answer) => (answer ? [answer.status] : []))
    expect(statuses.sort()).toEqual([202, 409, 409])
    await scene.node.settle()
    expect((await scene.read(body.id)).state).toBe('released')
    expect(scene.node.held.get(body.id)?.is_there).toBe(false)
  }
})
