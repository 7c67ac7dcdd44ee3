import { randomUUID } from 'node:crypto'
import type { SignedTask } from '@gatehouse/contract/node-tasks'
import { reportTask, waitForTasks } from '@gatehouse/contract/nodes'
import { afterAll, expect, test } from 'vitest'
import type { Work } from '#ground/work/work.ts'
import type { ServerParts } from '#rails/http/server.ts'
import { type EnrolledNode, enrolledNode, type Told } from '../../../../test/enrolled-node.ts'
import { type LiveServer, liveServer } from '../../../../test/live-server.ts'
import { placedAllocation, probed, queued } from '../../../../test/task-world.ts'
import { findTask } from './node-task-queries.ts'

const servers: { stop: () => Promise<unknown> }[] = []
afterAll(async () => {
  for (const server of servers) await server.stop()
})

const done = { outcome: 'completed', generation: 0 } as const
const stateOf = (live: LiveServer) =>
  live.sql(`select id, state, attempts, dispatched_to, result from node_tasks order by id`).then((rows) => JSON.stringify(rows))
const sameBytes = ({ status, body }: Told) => JSON.stringify([status, { ...body, correlation_id: '' }])

interface Attempt {
  readonly what: string
  readonly reason_code: string
  readonly ask: () => Promise<Told>
}

/** What node B may not do, each with what it is told. */
const attemptsOf = async (live: LiveServer, a: EnrolledNode, b: EnrolledNode): Promise<Attempt[]> => {
  const waiting = await queued(live.database, a.id, 'allocation.install_authorized_keys', 1, await placedAllocation(live, a.id))
  const probe = await probed(live.database, a.id)
  const told = await a.ask(waitForTasks, { params: { node_id: a.id }, query: { wait_seconds: 0, run: randomUUID() } })
  if (!told.body.tasks.some(({ task_id }: SignedTask) => task_id === waiting.id)) throw new Error('node A was not given its own task')
  const own = await probed(live.database, b.id)
  const over = await probed(live.database, b.id)
  await live.sql(`update node_tasks set state = 'completed', dispatched_at = now(), reported_at = now(), result = $2 where id = $1`, [
    over.id,
    JSON.stringify(done),
  ])
  const report = (path_of: string, task_id: string) => () => b.ask(reportTask, { params: { node_id: path_of, task_id }, body: done })
  const foreign = 'scope_mismatch'
  return [
    {
      what: 'waits for A’s',
      reason_code: foreign,
      ask: () => b.ask(waitForTasks, { params: { node_id: a.id }, query: { wait_seconds: 0, run: randomUUID() } }),
    },
    { what: 'answers for A at A’s place', reason_code: foreign, ask: report(a.id, probe.id) },
    { what: 'answers for A at its own place', reason_code: foreign, ask: report(b.id, probe.id) },
    { what: 'answers for what there is not', reason_code: foreign, ask: report(b.id, randomUUID()) },
    { what: 'answers what is over', reason_code: 'permission_denied', ask: report(b.id, over.id) },
    { what: 'answers what it was never given', reason_code: 'permission_denied', ask: report(b.id, own.id) },
  ]
}

/** Whatever of S8 does not hold. */
const faultsOf = async (live: LiveServer): Promise<string[]> => {
  const [a, b] = [await enrolledNode(live), await enrolledNode(live)]
  const attempts = await attemptsOf(live, a, b)
  const before = await stateOf(live)
  const faults: string[] = []
  const refusals = new Map<string, Set<string>>()
  for (const { what, reason_code, ask } of attempts) {
    const before_it = (await live.sql('select id from audit_logs')).map(({ id }) => id)
    const told = await ask()
    if (told.status !== 403 || told.body.details?.reason_code !== reason_code) faults.push(`${what}: ${told.status}`)
    // Which action was asked for, the caller knows.
    const asked = `${reason_code} of ${told.body.details?.action}`
    refusals.set(asked, (refusals.get(asked) ?? new Set()).add(sameBytes(told)))
    const rows = await live.sql('select result, severity, actor_id from audit_logs where id <> all($1)', [before_it])
    const recorded = rows.filter(({ result, severity, actor_id }) => result === 'denied' && severity === 'high' && actor_id === b.id)
    if (rows.length !== 1 || recorded.length !== 1) faults.push(`${what}: recorded ${JSON.stringify(rows)}`)
  }
  if ((await stateOf(live)) !== before) faults.push('something changed')
  // What there is of somebody else's, and what there is not, cannot be told apart.
  for (const [asked, bytes] of refusals) if (bytes.size !== 1) faults.push(`${asked} is told in ${bytes.size} ways`)
  a.stop()
  b.stop()
  return faults
}

test('SG-16 S8 a node reads and answers its own tasks only: refused, nothing changed, recorded once and high', async () => {
  const live = await liveServer()
  servers.push(live)
  expect(await faultsOf(live)).toEqual([])
})

type Verb = (work: Work, input: { params: { node_id: string; task_id: string } }) => Promise<unknown>
/** A product that takes the word of any node about any task. */
const trusting = (parts: ServerParts): ServerParts => ({
  ...parts,
  answers: parts.answers.map((each) => {
    if (each.operation.id !== 'node.task.report' || !('verb' in each)) return each
    const verb = each.verb as unknown as Verb
    const broken: Verb = async (work, input) => {
      const task = await work.tx.maybe(findTask(input.params.task_id))
      const node_id = task?.node_id ?? input.params.node_id
      const answered = await verb(
        { ...work, actor: { type: 'node_agent', id: node_id, credential_id: 'serial' } },
        { ...input, params: { ...input.params, node_id } },
      )
      // What is asked about is not what is judged: the rails would notice, so it pretends.
      work.trail.asked.push({ ...work.trail.asked.at(-1)!, resource_id: input.params.node_id })
      return answered
    }
    return { ...each, verb: broken as never }
  }),
})

test('SG-16 S8 a product that takes any node’s word is found out', async () => {
  const live = await liveServer(trusting)
  servers.push(live)
  const faults = await faultsOf(live)
  expect(faults).toContain('answers for A at its own place: 200')
  expect(faults).toContain('something changed')
})
