import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { listTaskSigners, revokeTaskSigner, rotateTaskSigner, waitForTasks } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import { enrolledNode, nodeFixture } from '../../../../test/enrolled-node.ts'
import { fixture } from '../../../../test/fixture.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { modelNode } from '../../../../test/model-node.ts'
import { type Placed, placedAllocation, probed, queued } from '../../../../test/task-world.ts'

const live = serverFixture()
const other = fixture(() => live.replica())
nodeFixture(live)
const reason = { reason: 'as planned' }
const settled = async () => {
  await live.tasking.settled()
  await other.tasking.settled()
}
const versions = async () => {
  await settled()
  return (await live.ask('ada', listTaskSigners)).body.items as {
    kid: string
    version: number
    state: string
    grace_until: string | null
  }[]
}
const inState = async (state: string) => (await versions()).find((each) => each.state === state)
const rotate = (person = 'ada', url?: string) => live.ask(person, rotateTaskSigner, { body: reason, base: url })
const revoke = (kid: string, person = 'ada') => live.ask(person, revokeTaskSigner, { params: { kid }, body: reason })

describe('versions of the key that signs tasks', () => {
  test('SG-22 there is one that signs and one that nodes know ahead; nothing of a private key is told', async () => {
    const all = await versions()
    expect(all.map(({ version, state }) => `${version} ${state}`)).toEqual(['2 staged', '1 active'])
    const text = JSON.stringify(all)
    expect(text).not.toContain('envelope')
    const [row] = await live.sql(`select envelope, certificate from task_signers where state = 'active'`)
    expect(row!.envelope).toMatchObject({ v: 1, alg: 'A256GCM' })
  })

  test('SG-22 rotation: the next one signs, what the former one signed is still believed, and there is a next one again', async () => {
    const mine = await enrolledNode(live)
    const model = modelNode(live, mine)
    const [former, next] = [(await inState('active'))!, (await inState('staged'))!]
    const before = await probed(live.database, mine.id)
    const rotated = await rotate()
    expect(rotated).toMatchObject({ status: 200, body: { kid: next.kid, state: 'active' } })
    const after = await probed(other.database, mine.id)
    const kids = await live.sql<{ id: string; kid: string }>('select id, kid from node_tasks where id = any($1)', [[before.id, after.id]])
    expect(new Map(kids.map(({ id, kid }) => [id, kid]))).toEqual(
      new Map([
        [before.id, former.kid],
        [after.id, next.kid],
      ]),
    )
    expect((await model.step()).length).toBe(2)
    expect(model.refused).toEqual([])
    expect(await inState('grace')).toMatchObject({ kid: former.kid })
    // As long as anything that it signed may live.
    expect(Date.parse((await inState('grace'))!.grace_until!) - Date.now()).toBeGreaterThan(3600_000)
    expect((await inState('staged'))!.version).toBe(next.version + 1)
    expect(model.signers().map(({ kid }) => kid)).toContain(former.kid)
    const [row] = await live.sql(`select severity, metadata from audit_logs where action = 'node.signer.rotate' order by id desc limit 1`)
    expect(row).toMatchObject({ severity: 'high', metadata: { from_kid: former.kid, reason: reason.reason } })
    // When its time is over it is put away.
    await live.sql(`update task_signers set grace_until = now() - interval '1 second' where kid = $1`, [former.kid])
    await live.tasking.tendSigners()
    expect((await versions()).find(({ kid }) => kid === former.kid)!.state).toBe('retired')
    await model.step()
    expect(model.signers().map(({ kid }) => kid)).not.toContain(former.kid)
    mine.stop()
  })

  test('SG-22 who may not manage nodes may neither rotate nor revoke, and a version that there is not is not found', async () => {
    const { kid } = (await inState('active'))!
    expect((await rotate('alice')).status).toBe(403)
    expect((await revoke(kid, 'alice')).status).toBe(403)
    expect((await live.ask('alice', listTaskSigners)).status).toBe(403)
    expect(await revoke('A'.repeat(43))).toMatchObject({ status: 404, body: { code: 'signer_not_found' } })
    expect((await inState('active'))!.kid).toBe(kid)
  })

  test('SG-22 two who rotate at once leave one version that signs and one that is next', async () => {
    const answers = await Promise.all([rotate(), rotate('ada', other.url), rotate(), rotate('ada', other.url)])
    for (const { status } of answers) expect([200, 409]).toContain(status)
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
    const states = (await versions()).map(({ state }) => state)
    expect(states.filter((state) => state === 'active')).toEqual(['active'])
    expect(states.filter((state) => state === 'staged')).toEqual(['staged'])
  })

  test('SG-22 a revoked version is believed no more; what it signed and is not done is signed anew and done', async () => {
    const mine = await enrolledNode(live)
    const model = modelNode(live, mine)
    const allocation = await placedAllocation(live, mine.id)
    const active = (await inState('active'))!
    const given = await queued(live.database, mine.id, 'allocation.install_authorized_keys', 3, allocation)
    const probe = await probed(live.database, mine.id)
    // Taken by a run that dies: what it holds was signed by the version that ends now.
    const lost = await mine.ask(waitForTasks, { params: { node_id: mine.id }, query: { wait_seconds: 0, run: randomUUID() } })
    const revoked = await revoke(active.kid)
    expect(revoked).toMatchObject({ status: 200, body: { state: 'revoked' } })
    await settled()
    const tasks = await live.sql<{ id: string; state: string; kid: string; generation: number }>(
      'select id, state, kid, generation::int from node_tasks where node_id = $1 order by id',
      [mine.id],
    )
    expect(tasks.filter(({ state }) => state !== 'expired')).toMatchObject([{ generation: 3, state: 'queued' }])
    expect(tasks.find(({ state }) => state === 'queued')!.kid).not.toBe(active.kid)
    expect(tasks.filter(({ state }) => state === 'expired').map(({ id }) => id)).toEqual([given.id, probe.id].sort())
    expect((await model.step()).map(({ generation }) => generation)).toEqual([3])
    expect(model.signers().map(({ kid }) => kid)).not.toContain(active.kid)
    for (const task of lost.body.tasks) await model.perform(task)
    expect(model.refused.map(({ why }) => why)).toEqual(['bad_signature', 'bad_signature'])
    expect(model.held.get(allocation.id)?.generation).toBe(3)
    expect(await revoke(active.kid)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    const [row] = await live.sql(`select tenant_id, metadata from audit_logs where action = 'node.task.renew' and resource_id = $1`, [
      given.id,
    ])
    expect(row).toMatchObject({ tenant_id: allocation.org_id, metadata: { was_expired: false, generation: 3 } })
    mine.stop()
  })

  test('SG-22 rotated and revoked under load, on two processes: every task is done in the end', async () => {
    const mine = await enrolledNode(live)
    const models = [modelNode(live, mine), modelNode(live, mine, {}, { url: other.nodes.url })]
    const allocations: Placed[] = []
    for (let count = 0; count < 4; count += 1) allocations.push(await placedAllocation(live, mine.id))
    let is_over = false
    const turning = (async () => {
      for (let turn = 0; !is_over || turn < 12; turn += 1) {
        const answered =
          turn % 3 === 2 ? await revoke((await inState('active'))!.kid) : await rotate('ada', turn % 2 ? other.url : undefined)
        // A machine that is busy may refuse to decide, and nothing has happened then.
        expect([200, 409, 503]).toContain(answered.status)
        await sleep(40)
      }
      return (await live.sql(`select count(*)::int as n from task_signers`))[0]!.n as number
    })()
    const queuing = Promise.all(
      allocations.map(async (allocation, index) => {
        for (let generation = 1; generation <= 25; generation += 1) {
          const { database } = index % 2 ? other : live
          await queued(database, mine.id, 'allocation.install_authorized_keys', generation, allocation)
          await models[generation % 2]!.step().catch((error: Error) => {
            if (!error.message.includes(' 503 ')) throw error
          })
        }
      }),
    )
    await queuing.finally(() => {
      is_over = true
    })
    expect(await turning).toBeGreaterThan(5)
    await settled()
    await live.tasking.tendTasks()
    for (const model of models) {
      model.restart()
      await model.settle()
    }
    const open = await live.sql(`select id, state from node_tasks where node_id = $1 and state in ('queued', 'dispatched')`, [mine.id])
    expect(open).toEqual([])
    for (const { id } of allocations) expect(Math.max(...models.map(({ held }) => held.get(id)?.generation ?? 0))).toBe(25)
    mine.stop()
  })

  test('SG-22 what was made before a restore signs nothing, and what it signed is signed anew', async () => {
    const mine = await enrolledNode(live)
    const allocation = await placedAllocation(live, mine.id)
    const { id } = await queued(live.database, mine.id, 'allocation.install_authorized_keys', 3, allocation)
    const before = new Set((await versions()).map(({ kid }) => kid))
    await live.sql('update installation set epoch = epoch + 1')
    await expect(probed(live.database, mine.id)).rejects.toMatchObject({ code: 'dependency_unavailable' })
    await live.tasking.tendSigners()
    await live.tasking.tendTasks()
    const fresh = (await versions()).filter(({ kid }) => !before.has(kid))
    expect(fresh.map(({ state }) => state).sort()).toEqual(['active', 'staged'])
    const rows = await live.sql<{ id: string; state: string; kid: string }>(
      `select id, state, kid from node_tasks where allocation_id = $1 order by id`,
      [allocation.id],
    )
    expect(rows).toMatchObject([{ id, state: 'expired' }, { state: 'queued' }])
    expect(before.has(rows[1]!.kid)).toBe(false)
    mine.stop()
  })
})
