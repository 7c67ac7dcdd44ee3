import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import type { SignedTask } from '@gatehouse/contract/node-tasks'
import { readNode, renewCertificate, reportTask, waitForTasks } from '@gatehouse/contract/nodes'
import { refusalOf } from '@gatehouse/contract/verify-task'
import { describe, expect, test } from 'vitest'
import type { BodyOf } from '../../../../test/ask.ts'
import { type EnrolledNode, enrolledNode, nodeFixture, nodeKeys } from '../../../../test/enrolled-node.ts'
import { liveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { believing, modelNode, performed, signedResult } from '../../../../test/model-node.ts'
import { placedAllocation, probed, queued } from '../../../../test/task-world.ts'

const { org, project } = seeded
const live = serverFixture()
const node = nodeFixture(live)

const waitAs = (who: EnrolledNode, run: string, wait_seconds = 0) =>
  who.ask(waitForTasks, { params: { node_id: who.id }, query: { wait_seconds, run } })
const typesOf = (tasks: readonly SignedTask[]) => tasks.map(({ type, generation }) => `${type.split('.')[1]} ${generation}`)
const rowOf = async (id: string) => (await live.sql('select * from node_tasks where id = $1', [id]))[0]!
const done = (generation: number) => ({ outcome: 'completed', generation }) as const
/** Of the set that `queued` sends. */
const installed = (generation: number) => ({ ...done(generation), receipt: { applied_generation: generation, set_hash: 'none' } })

describe('what a node is given', () => {
  test('SG-22 a task as it was queued, signed by a version that the pinned authority vouches for, and recorded for its tenant', async () => {
    const allocation = await placedAllocation(live, node.id)
    const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 3, allocation)
    const told = await waitAs(node, randomUUID())
    expect(told.status).toBe(200)
    const task = told.body.tasks.find(({ task_id }: SignedTask) => task_id === id)
    expect(task).toMatchObject({ node_id: node.id, type: 'allocation.install_authorized_keys', generation: 3 })
    expect(task!.params).toEqual({ allocation_id: allocation.id, username: allocation.username, keys: [], set_hash: 'none' })
    const judging = { node_id: node.id, now: Date.now(), skew_ms: 0, isSignedBy: believing(node.authority, told.body.signers) }
    expect(refusalOf(task, judging)).toBeUndefined()
    expect(refusalOf({ ...task, generation: 4 }, judging)).toBe('bad_signature')
    // Of another authority's node nothing is believed, however it is listed.
    const other = await liveServer()
    const stranger = await enrolledNode(other)
    expect(refusalOf(task, { ...judging, isSignedBy: believing(stranger.authority, told.body.signers) })).toBe('bad_signature')
    stranger.stop()
    await other.stop()
    expect(told.body.signers.map(({ state }: { state: string }) => state).sort()).toEqual(['active', 'staged'])
    expect(Date.parse(task!.expires_at) - Date.now()).toBeGreaterThan(3500_000)
    const [dispatched] = await live.sql(`select * from audit_logs where action = 'node.task.dispatch' and resource_id = $1`, [id])
    expect(dispatched).toMatchObject({
      actor_type: 'node_agent',
      actor_id: node.id,
      tenant_id: org.aurora,
      project_id: project.aurora,
      metadata: { allocation_id: allocation.id, generation: 3, attempt: 1, node_id: node.id },
    })
  })

  test('SG-10 of each allocation the oldest open task only; a later set takes the place of one that waits; the end takes that of all', async () => {
    const mine = await enrolledNode(live)
    const [one, two] = [await placedAllocation(live, mine.id), await placedAllocation(live, mine.id)]
    const first = await queued(live.database, mine.id, 'allocation.provision_user', 1, one)
    await queued(live.database, mine.id, 'allocation.install_authorized_keys', 2, one)
    await queued(live.database, mine.id, 'allocation.install_authorized_keys', 3, one)
    await queued(live.database, mine.id, 'allocation.install_authorized_keys', 5, two)
    const run = randomUUID()
    // What ends access goes before what makes an account, whichever came first.
    expect(typesOf((await waitAs(mine, run)).body.tasks)).toEqual(['install_authorized_keys 5', 'provision_user 1'])
    expect((await waitAs(mine, run)).body.tasks).toEqual([])
    expect((await mine.ask(reportTask, { params: { node_id: mine.id, task_id: first.id }, body: done(1) })).status).toBe(200)
    expect(typesOf((await waitAs(mine, run)).body.tasks)).toEqual(['install_authorized_keys 3'])
    await queued(live.database, mine.id, 'allocation.provision_user', 6, one)
    await queued(live.database, mine.id, 'allocation.deprovision_user', 7, one)
    expect(typesOf((await waitAs(mine, run)).body.tasks)).toEqual(['deprovision_user 7'])
    const states = await live.sql('select generation::int, state from node_tasks where allocation_id = $1 order by generation', [one.id])
    expect(states.map(({ generation, state }) => `${generation} ${state}`)).toEqual([
      '1 completed',
      '2 superseded',
      '3 superseded',
      '6 superseded',
      '7 dispatched',
    ])
    mine.stop()
  })

  test('SG-10 what is not reported is given again: to another run at once, to the same one later each time', async () => {
    const mine = await enrolledNode(live)
    const { id } = await probed(live.database, mine.id)
    const [run, another] = [randomUUID(), randomUUID()]
    const given = async (to: string) => (await waitAs(mine, to)).body.tasks.length
    expect(await given(run)).toBe(1)
    expect(await given(run)).toBe(0)
    expect(await given(another)).toBe(1)
    expect(await given(another)).toBe(0)
    const back = (seconds: number) =>
      live.sql(`update node_tasks set dispatched_at = now() - make_interval(secs => $2) where id = $1`, [id, seconds])
    // Twice given: 20 seconds now, 40 the next time, and never more than 300.
    await back(19)
    expect(await given(another)).toBe(0)
    await back(21)
    expect(await given(another)).toBe(1)
    await back(39)
    expect(await given(another)).toBe(0)
    await live.sql('update node_tasks set attempts = 40 where id = $1', [id])
    await back(299)
    expect(await given(another)).toBe(0)
    await back(301)
    expect(await given(another)).toBe(1)
    expect((await rowOf(id)).attempts).toBe(41)
    // The first time, and each time that it was twice as often.
    const dispatches = () =>
      live.sql<{ attempt: number }>(
        `select (metadata ->> 'attempt')::int as attempt from audit_logs where action = 'node.task.dispatch' and resource_id = $1 order by 1`,
        [id],
      )
    expect((await dispatches()).map(({ attempt }) => attempt)).toEqual([1, 2])
    for (let round = 0; round < 25; round += 1) expect(await given(randomUUID())).toBe(1)
    expect((await dispatches()).map(({ attempt }) => attempt)).toEqual([1, 2, 64])
    mine.stop()
  })

  test('SG-10 a node under loss, doubling and reordering ends with the last set of each allocation', async () => {
    const mine = await enrolledNode(live)
    let turn = 0
    const shaken = modelNode(live, mine, {
      deliver: (tasks) => {
        turn += 1
        if (turn % 3 === 0) return []
        return [...tasks, ...tasks].reverse()
      },
      loseReport: () => turn % 4 === 1,
      loseAnswer: () => turn % 5 === 2,
    })
    const allocations = [await placedAllocation(live, mine.id), await placedAllocation(live, mine.id)]
    for (let generation = 1; generation <= 8; generation += 1) {
      for (const allocation of allocations)
        await queued(live.database, mine.id, 'allocation.install_authorized_keys', generation, allocation, { set_hash: `${generation}` })
      await shaken.step()
      if (generation % 2 === 0) shaken.restart()
    }
    for (let round = 0; round < 20; round += 1) {
      shaken.restart()
      await shaken.step()
    }
    for (const { id } of allocations) expect(shaken.held.get(id)?.generation).toBe(8)
    const open = await live.sql(`select 1 from node_tasks where node_id = $1 and state in ('queued', 'dispatched')`, [mine.id])
    expect(open).toEqual([])
    expect(shaken.refused).toEqual([])
    mine.stop()
  })

  test('the version of an agent is noted when it changes, and recorded', async () => {
    const ask = (version: string) =>
      node.ask(waitForTasks, { params: { node_id: node.id }, query: { wait_seconds: 0, run: randomUUID(), agent_version: version } })
    const shown = async () => (await live.ask('ada', readNode, { params: { node_id: node.id } })).body.agent_version
    for (const version of ['1.2.3', '1.2.3', '1.3.0']) expect((await ask(version)).status).toBe(200)
    // Once an hour at most: nobody fills the record with it.
    expect(await shown()).toBe('1.2.3')
    await live.sql(`update nodes set agent_version_at = agent_version_at - interval '61 minutes' where id = $1`, [node.id])
    for (const version of ['1.3.0', '1.2.3', '1.3.0', '1.2.3']) expect((await ask(version)).status).toBe(200)
    expect(await shown()).toBe('1.3.0')
    const rows = await live.sql(`select metadata from audit_logs where action = 'node.agent_version' and resource_id = $1 order by id`, [
      node.id,
    ])
    expect(rows.map(({ metadata }) => (metadata as { agent_version: string }).agent_version)).toEqual(['1.2.3', '1.3.0'])
  })
})

test('SG-16 a node that is refused all the time does not fill the record: it says how often', async () => {
  const mine = await enrolledNode(live)
  for (let round = 0; round < 40; round += 1)
    expect((await mine.ask(reportTask, { params: { node_id: mine.id, task_id: randomUUID() }, body: done(1) })).status).toBe(403)
  const rows = await live.sql<{ attempts: number; severity: string }>(
    `select (metadata ->> 'attempts')::int as attempts, severity from audit_logs where actor_id = $1 and result = 'denied' order by 1`,
    [mine.id],
  )
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16, 32])
  expect(new Set(rows.map(({ severity }) => severity))).toEqual(new Set(['high']))
  // What is refused for another reason is not hidden behind it.
  const { id } = await probed(live.database, mine.id)
  expect((await mine.ask(reportTask, { params: { node_id: mine.id, task_id: id }, body: done(0) })).status).toBe(403)
  expect(await live.sql(`select reason_code from audit_logs where resource_id = $1 and result = 'denied'`, [id])).toEqual([
    { reason_code: 'permission_denied' },
  ])
  mine.stop()
})

test('SG-10 a run is a UUID, and nothing else', async () => {
  for (const run of ['-'.repeat(36), 'a'.repeat(36)]) expect((await waitAs(node, run)).status).toBe(400)
})

describe('what a node says', () => {
  const given = async (who: EnrolledNode, id: string): Promise<SignedTask> => {
    const told = await waitAs(who, randomUUID())
    return told.body.tasks.find(({ task_id }) => task_id === id) as SignedTask
  }
  const reported = (who: EnrolledNode, id: string, body: BodyOf<typeof reportTask>, key?: string) =>
    who.ask(reportTask, { params: { node_id: who.id, task_id: id }, body, headers: key === undefined ? {} : { 'idempotency-key': key } })

  test('SG-16 a result is accepted once; the same again with its key is answered alike and changes nothing', async () => {
    const { id } = await probed(live.database, node.id)
    await given(node, id)
    const answers = await Promise.all([1, 2, 3].map(() => reported(node, id, done(0), 'one-report')))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.map(({ body }) => body)).toEqual([1, 2, 3].map(() => ({ task_id: id, state: 'completed' })))
    const rows = await live.sql(`select 1 from audit_logs where action = 'node.task.report' and resource_id = $1 and result = 'success'`, [
      id,
    ])
    expect(rows.length).toBe(1)
    expect(await reported(node, id, done(0))).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect(await reported(node, id, { ...done(0), outcome: 'failed' }, 'one-report')).toMatchObject({
      body: { code: 'idempotency_key_reused' },
    })
  })

  test('SG-10 the word about a task that was superseded meanwhile is kept, and the task stays what it is', async () => {
    const allocation = await placedAllocation(live, node.id)
    const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 3, allocation)
    await given(node, id)
    await queued(live.database, node.id, 'allocation.install_authorized_keys', 4, allocation)
    const answered = await reported(node, id, signedResult(node.key, id, installed(3)))
    expect(answered).toMatchObject({ status: 200, body: { state: 'superseded' } })
    expect(await rowOf(id)).toMatchObject({ state: 'superseded', result: { outcome: 'completed' } })
    const [row] = await live.sql('select confirmed_generation::int as confirmed from allocations where id = $1', [allocation.id])
    expect(row).toEqual({ confirmed: 3 })
  })

  test('SG-16 a receipt counts if it is signed by a key of the node’s, also by the one before a renewal; otherwise nothing is kept', async () => {
    const mine = await enrolledNode(live)
    const { id } = await probed(live.database, mine.id)
    const { result } = performed(undefined, await given(mine, id))
    const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const good = signedResult(mine.key, id, result)
    const bad = [
      signedResult(foreign, id, result),
      signedResult(mine.key, randomUUID(), result),
      { ...good, receipt: { ...good.receipt, applied_generation: 5 } },
      { ...good, receipt_signature: 'AAAA' },
    ]
    for (const body of bad)
      expect(await reported(mine, id, body)).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect(await rowOf(id)).toMatchObject({ state: 'dispatched', result: null })
    const { csr } = await nodeKeys()
    expect((await mine.ask(renewCertificate, { params: { node_id: mine.id }, body: { csr } })).status).toBe(201)
    expect((await reported(mine, id, good)).status).toBe(200)
    const [row] = await live.sql(
      `select metadata from audit_logs where action = 'node.task.report' and resource_id = $1 and result = 'success'`,
      [id],
    )
    expect(row!.metadata).toMatchObject({ receipt: good.receipt, receipt_signature: good.receipt_signature })
    mine.stop()
    const ed = await enrolledNode(live, { key_kind: 'Ed25519' })
    const probe = await probed(live.database, ed.id)
    const other = performed(undefined, await given(ed, probe.id)).result
    expect(createPrivateKey(ed.key).asymmetricKeyType).toBe('ed25519')
    expect((await reported(ed, probe.id, signedResult(ed.key, probe.id, other))).status).toBe(200)
    ed.stop()
  })

  test('SG-19 SG-20 that keys were put in force or an account put away is believed on a signed receipt of that very set; else it is pending', async () => {
    const allocation = await placedAllocation(live, node.id)
    const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 5, allocation)
    await given(node, id)
    const confirmed = async () =>
      (await live.sql('select confirmed_generation::int as confirmed from allocations where id = $1', [allocation.id]))[0]!.confirmed
    const refusals = () =>
      live.sql(`select * from audit_logs where action = 'node.task.report' and resource_id = $1 and result = 'denied' order by seq`, [id])
    const good = signedResult(node.key, id, installed(5))
    const { receipt_signature: _signature, ...unsigned } = good
    const bad = [
      done(5),
      unsigned,
      signedResult(node.key, id, { ...done(5), receipt: { applied_generation: 5 } }),
      signedResult(node.key, id, { ...done(5), receipt: { applied_generation: 5, set_hash: 'another' } }),
    ]
    for (const body of bad)
      expect(await reported(node, id, body)).toMatchObject({ status: 403, body: { details: { reason_code: 'permission_denied' } } })
    expect([(await rowOf(id)).state, await confirmed()]).toEqual(['dispatched', 0])
    expect(await refusals()).toMatchObject(bad.map(() => ({ severity: 'high', reason_code: 'permission_denied' })))
    expect((await reported(node, id, good)).body.state).toBe('completed')
    expect(await confirmed()).toBe(5)
    const away = await queued(live.database, node.id, 'allocation.deprovision_user', 6, allocation)
    await given(node, away.id)
    expect((await reported(node, away.id, done(6))).status).toBe(403)
    const sessions_ended = [
      { session_id: 'x.1', fingerprint: `SHA256:${'a'.repeat(43)}`, processes_ended: 2, may_have_left_processes: true },
    ]
    const receipt = { applied_generation: 6, fingerprints: [], grant_ids: [], sessions_ended }
    const gone = signedResult(node.key, away.id, { ...done(6), receipt })
    expect((await reported(node, away.id, gone)).body.state).toBe('completed')
    // With the task, and in the record.
    expect((await rowOf(away.id)).result).toEqual(gone)
    const [row] = await live.sql(
      `select metadata, tenant_id from audit_logs where action = 'node.task.report' and resource_id = $1 and result = 'success'`,
      [away.id],
    )
    expect(row).toMatchObject({ tenant_id: org.aurora, metadata: { receipt, receipt_signature: gone.receipt_signature } })
  })

  test('SG-10 a result that cannot be about this task is refused', async () => {
    const allocation = await placedAllocation(live, node.id)
    const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 5, allocation)
    await given(node, id)
    const bodies = [
      done(4),
      done(6),
      signedResult(node.key, id, { ...done(5), receipt: { applied_generation: 4, set_hash: 'none' } }),
      signedResult(node.key, id, { outcome: 'superseded', generation: 5, receipt: { applied_generation: 5 } }),
    ]
    for (const body of bodies) expect((await reported(node, id, body)).status).toBe(403)
    expect(await rowOf(id)).toMatchObject({ state: 'dispatched', result: null })
    // A later one it can have applied when it was given it, and not before.
    const overtaken = signedResult(node.key, id, { outcome: 'superseded', generation: 5, receipt: { applied_generation: 6 } })
    const later = await queued(live.database, node.id, 'allocation.install_authorized_keys', 6, allocation)
    expect((await reported(node, id, overtaken)).status).toBe(403)
    await given(node, later.id)
    expect((await reported(node, id, overtaken)).body.state).toBe('superseded')
  })
})
