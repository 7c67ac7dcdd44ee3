import { randomUUID } from 'node:crypto'
import { retireNode, waitForTasks } from '@gatehouse/contract/nodes'
import { expect, test, vi } from 'vitest'
import { createMetrics } from '#ground/telemetry/metrics.ts'
import { type EnrolledNode, enrolledNode, nodeFixture, type Told } from '../../../../test/enrolled-node.ts'
import { type LiveServer, liveServer, serverFixture } from '../../../../test/live-server.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { probed } from '../../../../test/task-world.ts'

// As long as a node may ask for, and what is taken for "before that": what a busy machine needs lies far below it.
const longest = 25
const is_early_ms = 20_000

const metrics = createMetrics()
const live = serverFixture({ parts: { metrics } })
const node = nodeFixture(live)

interface Timed {
  readonly told: Told
  readonly ms: number
}
const wait = async (who: EnrolledNode, seconds = longest, url?: string): Promise<Timed> => {
  const began = performance.now()
  const told = await who.ask(waitForTasks, {
    params: { node_id: who.id },
    query: { wait_seconds: seconds, run: randomUUID() },
    base: url,
  })
  return { told, ms: performance.now() - began }
}
/** Reports nothing: what is there for a test to wait for is put away first. */
const nothingOpen = () => live.sql(`update node_tasks set state = 'superseded' where state in ('queued', 'dispatched')`)
const listeners = () =>
  live.sql<{ pid: number }>(
    `select pid from pg_stat_activity where application_name like 'gatehouse-listen%' and datname = current_database()`,
  )

/** So many requests are under way at a server, and none of them holds a connection: they wait. */
const isQuiet = async (count: number, { database }: Pick<LiveServer, 'database'>, counted = metrics) => {
  const { total, idle, waiting } = database.stats()
  return (await counted.text()).includes(`gatehouse_http_requests_in_flight ${count}\n`) && total === idle && waiting === 0
}
const untilWaiting = (count: number, server: Pick<LiveServer, 'database'>, counted = metrics) =>
  expect.poll(() => isQuiet(count, server, counted)).toBe(true)

test('SG-10 with nothing to do the answer waits as long as it was asked to, and then says nothing but who signs', async () => {
  await nothingOpen()
  const ends = vi.spyOn(AbortSignal, 'timeout')
  const { told, ms } = await wait(node, 1)
  expect(ms).toBeGreaterThan(950)
  // And no longer.
  expect(ends.mock.calls.filter(([end]) => end > 0 && end <= 1000)).not.toEqual([])
  expect(told).toMatchObject({ status: 200, body: { tasks: [] } })
  expect(told.body.signers.length).toBeGreaterThan(1)
  expect(Date.parse(told.body.renew_after)).toBeGreaterThan(Date.now())
})

test('SG-10 a wait on one process ends when a task is queued on another', async () => {
  const counted = createMetrics()
  const other = await live.replica({ metrics: counted })
  for (let round = 0; round < 4; round += 1) {
    await nothingOpen()
    const isHere = round % 2 === 0
    const waiting = wait(node, longest, isHere ? undefined : other.nodes.url)
    await (isHere ? untilWaiting(1, live) : untilWaiting(1, other, counted))
    await probed(isHere ? other.database : live.database, node.id)
    const { told, ms } = await waiting
    expect(told.body.tasks.length).toBe(1)
    // Nobody looks by himself before the time is over.
    expect(ms).toBeLessThan(is_early_ms)
  }
})

test('SG-10 fifty who wait hold no transaction and no connection of the pool', async () => {
  const counted = createMetrics()
  const own = await liveServer({ metrics: counted })
  const nodes: EnrolledNode[] = []
  // Four of each may wait at a time.
  for (let count = 0; count < 13; count += 1) nodes.push(await enrolledNode(own))
  const waits = Array.from({ length: 50 }, (_, index) => wait(nodes[index % 13]!))
  await untilWaiting(50, own, counted)
  const held = await own.sql(
    `select state, query from pg_stat_activity where datname = current_database() and application_name = 'gatehouse' and state <> 'idle'`,
  )
  expect(held).toEqual([])
  const stopped = own.stop()
  for (const { told } of await Promise.all(waits)) expect(told.status).toBe(200)
  for (const each of nodes) each.stop()
  await stopped
})

test('SG-10 of one node four wait at a time: when another comes, the oldest is answered with nothing; a server that closes answers all', async () => {
  const counted = createMetrics()
  const own = await liveServer({ metrics: counted })
  const mine = await enrolledNode(own)
  const answered: number[] = []
  const waits: Promise<Timed>[] = []
  for (let count = 0; count < 6; count += 1) {
    waits.push(
      wait(mine).finally(() => {
        answered.push(count)
      }),
    )
    await untilWaiting(Math.min(count + 1, 4), own, counted)
    await expect.poll(() => answered.length).toBe(Math.max(0, count - 3))
  }
  expect(answered).toEqual([0, 1])
  const stopped = own.stop()
  const timed = await Promise.all(waits)
  expect(timed.map(({ told }) => [told.status, told.body.tasks])).toEqual(timed.map(() => [200, []]))
  for (const { ms } of timed) expect(ms).toBeLessThan(is_early_ms)
  mine.stop()
  await stopped
})

test('SG-22 a node that is retired while it waits is refused at once, on every process', async () => {
  const counted = createMetrics()
  const other = await live.replica({ metrics: counted })
  const mine = await enrolledNode(live)
  const waiting = [wait(mine), wait(mine), wait(mine), wait(mine, longest, other.nodes.url)]
  await Promise.all([untilWaiting(3, live), untilWaiting(1, other, counted)])
  const retired = await live.ask('ada', retireNode, { params: { node_id: mine.id }, body: { reason: 'stolen' } })
  expect(retired.status).toBe(200)
  for (const { told, ms } of await Promise.all(waiting)) {
    expect(told.status).toBe(403)
    expect(ms).toBeLessThan(is_early_ms)
  }
  mine.stop()
})

test('SG-10 the line that tells of tasks heals when it is cut, and meanwhile nobody waits for it', async () => {
  await nothingOpen()
  const before = new Set((await listeners()).map(({ pid }) => pid))
  expect(before.size).toBeGreaterThan(0)
  const waiting = wait(node)
  await untilWaiting(1, live)
  // As the role that they are: nobody else may.
  await asSuperuser(live.clone.appUrl, (client) =>
    client.query(
      `select pg_terminate_backend(pid, 60000) from pg_stat_activity where application_name like 'gatehouse-listen%' and datname = current_database()`,
    ),
  )
  await probed(live.database, node.id)
  const { told, ms } = await waiting
  expect(told.body.tasks.length).toBe(1)
  expect(ms).toBeLessThan(is_early_ms)
  // All are back, as others.
  await expect.poll(async () => (await listeners()).filter(({ pid }) => !before.has(pid)).length).toBe(before.size)
  await nothingOpen()
  const again = wait(node)
  await untilWaiting(1, live)
  await probed(live.database, node.id)
  expect((await again).ms).toBeLessThan(is_early_ms)
})
