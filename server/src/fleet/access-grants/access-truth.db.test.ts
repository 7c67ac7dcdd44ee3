import { createAccessGrant, listAccessGrants } from '@gatehouse/contract/access-grants'
import { replaceAllocationSshKeys } from '@gatehouse/contract/allocations'
import { retireNode } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import { accessStage, stageFixture } from '../../../../test/access-stage.ts'
import { type Alteration, alteredDatabase } from '../../../../test/altered-database.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { user } = seeded
let failing = false
const live = serverFixture()
const stage = stageFixture(live, { fail: ({ type }) => (failing && type.endsWith('install_authorized_keys') ? 'disk_full' : undefined) })

const altered = (...alterations: readonly Alteration[]) =>
  live.replica((parts) => ({ ...parts, database: alteredDatabase(parts.database, ...alterations) }))

/** Somebody is let in, which the node has confirmed; then it is away. */
const entered = async () => {
  const his = await stage.key('axel')
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.settle()
  return { his, id, grant }
}
const told = async (id: string, grant_id: string, base = live.url) => {
  const { body } = await live.ask('amara', listAccessGrants, { params: { allocation_id: id }, base })
  const { state, runtime_sync } = body.items.find(({ id }) => id === grant_id)!
  return [state, runtime_sync.status]
}

describe('S9 what is said while a node is away', () => {
  test('SG-20 S9 a revoke is pending until the node itself has said that the key is gone, however it is asked', async () => {
    const { his, id, grant } = await entered()
    const revoked = await stage.revoke('asha', id, grant.id)
    expect([revoked.status, revoked.body]).toMatchObject([200, { state: 'ending', runtime_sync: { status: 'pending' } }])
    expect(await told(id, grant.id)).toEqual(['ending', 'pending'])
    expect((await stage.list('asha', id, '?state=revoked')).body.items).toEqual([])
    expect((await stage.list('asha', id, '?state=ending')).body.items).toHaveLength(1)
    // The node is back, has been told, and has not said anything yet.
    const { body } = await stage.model.wait()
    expect(body.tasks).toHaveLength(1)
    expect(await told(id, grant.id)).toEqual(['ending', 'pending'])
    expect(stage.onNode(id)).toEqual([his.fingerprint])
    await stage.model.perform(body.tasks[0])
    expect(stage.onNode(id)).toEqual([])
    const [row] = await live.sql<{ reported_at: Date }>('select reported_at from node_tasks where id = $1', [body.tasks[0].task_id])
    const seen = await stage.seen(id, grant.id)
    expect(seen).toMatchObject({ state: 'revoked', runtime_sync: { status: 'applied', since: row!.reported_at.toISOString() } })
    // It stays what it was when later sets come.
    await stage.granted('asha', id, 'axel', await stage.key('axel'))
    expect(await stage.seen(id, grant.id)).toEqual(seen)
  })

  test('SG-20 S9 when the node is back, what ends access comes before new accounts', async () => {
    const { id, grant } = await entered()
    const { id: later } = await stage.allocation('asha', [], false)
    await stage.done(stage.revoke('asha', id, grant.id), 200)
    const { body } = await stage.model.wait()
    expect(body.tasks.map(({ params }: { params: { allocation_id: string } }) => params.allocation_id)).toEqual([id, later])
    for (const task of body.tasks) await stage.model.perform(task)
    await stage.model.settle()
  })

  test('SG-20 a node that could not do it is said to have failed, and nothing to be gone', async () => {
    const { id, grant } = await entered()
    await stage.done(stage.revoke('asha', id, grant.id), 200)
    failing = true
    await stage.model.step()
    failing = false
    expect(await told(id, grant.id)).toEqual(['ending', 'failed'])
    // A later set that it does apply has the change in it as well.
    await stage.granted('asha', id, 'axel', await stage.key('axel'))
    expect(await told(id, grant.id)).toEqual(['ending', 'pending'])
    await stage.model.settle()
    expect(await told(id, grant.id)).toEqual(['revoked', 'applied'])
    // Said of the set that was confirmed, not of the one that failed.
    const good = (await stage.tasksOf(id)).at(-1)!
    expect((await stage.seen(id, grant.id)).runtime_sync).toMatchObject({ generation: Number(good.generation), task_id: good.id })
  })

  test('SG-20 S9 the check finds a build that takes what was sent for what was done', async () => {
    const { id, grant } = await entered()
    const believing = await altered({
      of: 'a.confirmed_generation >= w.generation',
      text: (text) => text.replace('a.confirmed_generation >= w.generation', 'a.generation >= w.generation'),
    })
    const revoked = await stage.revoke('asha', id, grant.id, believing.url)
    expect(revoked.body).toMatchObject({ state: 'revoked', runtime_sync: { status: 'applied' } })
    expect(await told(id, grant.id)).toEqual(['ending', 'pending'])
    await stage.model.settle()
  })
})

describe('a node that is gone for good', () => {
  test('SG-20 what it had not put away by its own word is not said to be gone, though nothing is left to free', async () => {
    let is_broken = true
    const apart = await accessStage(live, { fail: () => (is_broken ? 'disk_full' : undefined) }, { region: 'eu-7', sku: 'l40' })
    const { id } = await apart.allocation('asha', [], false)
    is_broken = false
    await apart.model.step()
    is_broken = true
    const grant = await apart.granted('asha', id, 'axel', await apart.key('axel'))
    // Its first set fails, and so does putting it away.
    await apart.model.step()
    await apart.model.step()
    expect(await apart.seen(id, grant.id)).toMatchObject({ state: 'ending', end_cause: 'allocation_failed' })
    expect((await live.ask('ada', retireNode, { params: { node_id: apart.node.id }, body: { reason: 'sold' } })).status).toBe(200)
    expect(await apart.seen(id, grant.id)).toMatchObject({ state: 'ending', runtime_sync: { status: 'failed' } })
    await apart.stop()
  })
})

describe('the checks of who and for whom can say red', () => {
  test('SG-03 S3 they find a build in which everybody owns everything', async () => {
    const { id } = await stage.allocation('amara')
    const key = await stage.key('aldo')
    const generous = await altered({
      of: 'from allocations where id =',
      rows: (rows) => rows.map((row) => ({ ...(row as object), owner_user_id: user('axel') })),
    })
    const body = { grantee_user_id: user('aldo'), ssh_key_id: key.id }
    expect((await live.ask('axel', createAccessGrant, { params: { allocation_id: id }, body })).status).toBe(403)
    expect((await live.ask('axel', createAccessGrant, { params: { allocation_id: id }, body, base: generous.url })).status).toBe(201)
  })

  test('SG-02 S4 they find a build that takes everybody for a member, and one that takes any key', async () => {
    const { id } = await stage.allocation()
    const [bodos, aldos] = [await stage.key('bodo'), await stage.key('aldo')]
    const everybody = await altered({ of: /select u\.id from users u\s+join projects/, rows: () => [{ id: user('bodo') }] })
    const anyKey = await altered({
      of: 'from ssh_public_keys where id =',
      rows: (rows) => rows.map((row) => ({ ...(row as object), user_id: user('axel') })),
    })
    const ask = (grantee: string, ssh_key_id: string, base: string) =>
      live.ask('asha', createAccessGrant, { params: { allocation_id: id }, body: { grantee_user_id: user(grantee), ssh_key_id }, base })
    expect((await ask('bodo', bodos.id, live.url)).status).toBe(409)
    expect((await ask('axel', aldos.id, live.url)).status).toBe(404)
    expect((await ask('bodo', bodos.id, everybody.url)).status).toBe(201)
    expect((await ask('axel', aldos.id, anyKey.url)).status).toBe(201)
  })

  test('SG-07 they find a build that forgets grants when the owner’s keys are replaced', async () => {
    const { his, id } = await entered()
    const forgetful = await altered({
      of: 'join allocation_access_grants g on g.allocation_id = open.id',
      rows: (rows) => rows.filter((row) => (row as { grant_id: string | null }).grant_id === null),
    })
    const replace = (base: string) =>
      live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids: [] }, base })
    await replace(live.url)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([his.fingerprint])
    await replace(forgetful.url)
    await stage.model.settle()
    expect(stage.onNode(id)).toEqual([])
  })
})
