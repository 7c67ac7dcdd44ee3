import { nameAllocationOwner } from '@gatehouse/contract/allocations'
import { removeProjectMember } from '@gatehouse/contract/members'
import { deleteSshKey } from '@gatehouse/contract/ssh-keys'
import { expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { crowd } from '../../../../test/crowd.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { asSuperuser } from '../../../../test/superuser.ts'

const { project } = seeded
const live = serverFixture()
const stage = stageFixture(live)

/** Of this database since it was made. */
const deadlocks = async () => {
  // A connection tells what it has counted when it ends, or some time later.
  const others = `from pg_stat_activity where datname = current_database() and usename = current_user and pid <> pg_backend_pid()`
  await asSuperuser(live.clone.appUrl, async (client) => {
    await client.query(`select pg_terminate_backend(pid, 60000) ${others} and application_name = 'gatehouse'`)
  })
  await live.sql('select pg_stat_force_next_flush()')
  const [row] = await live.sql<{ count: number }>('select deadlocks::int as count from pg_stat_database where datname = current_database()')
  return row!.count
}

test('SG-11 who owns one allocation and enters a later one leaves while a key goes that is on both: neither waits for the other for good', async () => {
  const second = await live.replica()
  for (let round = 0; round < 8; round += 1) {
    const [leaving, staying] = await crowd(live, 2)
    const low = (await stage.allocation('asha', [], false)).id
    const high = (await stage.allocation('asha', [], false)).id
    expect((await live.ask('aldo', nameAllocationOwner, { params: { allocation_id: low }, body: { user_id: leaving!.id } })).status).toBe(
      200,
    )
    const [his, other] = [await stage.key(leaving!.subject), await stage.key(staying!.subject)]
    await stage.granted('aldo', high, leaving!.id, his)
    await stage.granted('aldo', low, staying!.id, other)
    await stage.granted('aldo', high, staying!.id, other)
    const ended = await Promise.all([
      live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: leaving!.id }, body: {} }),
      live.ask(staying!.subject, deleteSshKey, { params: { ssh_key_id: other.id }, body: {}, base: second.url }),
    ])
    expect(ended.map(({ status }) => Math.floor(status / 100))).toEqual([2, 2])
    expect(await live.sql('select owner_user_id from allocations where id = $1', [low])).toEqual([{ owner_user_id: null }])
  }
  expect(await deadlocks()).toBe(0)
})
