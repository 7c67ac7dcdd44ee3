import { createPublicKey, randomUUID, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { receiptTextOf, type TaskResult } from '../../contract/src/node-tasks.ts'
import { littleAuthority } from '../../test/agent/little-authority.ts'
import { memoryState } from '../../test/agent/memory-state.ts'
import { fixture } from '../../test/fixture.ts'
import type { Answer, Asking } from './door.ts'
import { openOutbox } from './outbox.ts'
import type { State } from './state.ts'
import { openWearing } from './wearing.ts'

const authority = fixture(littleAuthority)
const first = fixture(() => authority.identityOf('00000000-0000-7000-8000-0000000000aa'))
const second = fixture(() => authority.identityOf(first.node_id))

const heard: Answer = { status: 200, body: {}, retry_after_seconds: undefined }
const refusal = (status: number, code: string, reason_code?: string): Answer => ({
  ...heard,
  status,
  body: { code, message: '', correlation_id: '', details: { reason_code } },
})
const result: TaskResult = { outcome: 'completed', generation: 1, receipt: { applied_generation: 1 } }

/** What the node has to say, to a door that answers as a test wants; `state` is what it has from the run before. */
const outboxOf = async (answer: (asking: Asking) => Answer | Error = () => heard, state: State = memoryState(first)) => {
  const asked: Asking[] = []
  const log = () => {}
  const open = () => ({
    ask: async (asking: Asking) => {
      asked.push(asking)
      const answered = answer(asking)
      if (answered instanceof Error) throw answered
      return answered
    },
    close: () => {},
  })
  const wearing = await openWearing(state, { open, log })
  return { ...(await openOutbox({ state, wearing, log, now: () => new Date(), wake: () => {} })), asked, state }
}
const said = (asked: readonly Asking[]) => asked.map(({ idempotency_key, body }) => [idempotency_key, body])

describe('a report', () => {
  test.for<[string, Answer | Error]>([
    ['nobody answers', new Error('reset')],
    ['the server fails', refusal(503, 'dependency_unavailable')],
    ['it asks too often', refusal(429, 'rate_limited')],
    ['the same is being heard', refusal(409, 'idempotency_in_progress')],
    ['the certificate is not taken', refusal(403, 'insufficient_permissions', 'membership_missing')],
    ['something in between answers', { ...heard, status: 404, body: 'no such page' }],
  ])('SG-10 is kept and said again in the same words, also after a restart, where %s', async ([, answer]) => {
    const outbox = await outboxOf(() => answer)
    const task_id = randomUUID()
    await outbox.report(task_id, result)
    expect(await outbox.flush()).toBe(false)
    const next = await outboxOf(() => heard, outbox.state)
    expect(next.waiting().reports).toBe(1)
    expect(await next.flush()).toBe(true)
    expect(said(next.asked)).toEqual(said(outbox.asked))
    expect(next.waiting().reports).toBe(0)
  })

  test.for<[string, Answer]>([
    ['the task is finished or another’s', refusal(403, 'insufficient_permissions', 'permission_denied')],
    ['the server cannot make sense of it', refusal(400, 'validation_error')],
  ])('is said no more where %s; if the task comes again, it is performed again', async ([, answer]) => {
    const outbox = await outboxOf(() => answer)
    const task_id = randomUUID()
    await outbox.report(task_id, result)
    expect(await outbox.flush()).toBe(true)
    expect([await outbox.flush(), outbox.asked.length, await outbox.repeat(task_id)]).toEqual([true, 1, false])
  })

  test('SG-19 of a task that comes again is said again where there is no room to note it: what came with it must not wait', async () => {
    const outbox = await outboxOf()
    const task_id = randomUUID()
    await outbox.report(task_id, result)
    await outbox.flush()
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    const next = await outboxOf(() => heard, { ...outbox.state, keepReport: () => Promise.reject(full) })
    expect([await next.repeat(task_id), next.waiting().reports]).toEqual([true, 1])
    await next.flush()
    expect(said(next.asked)).toEqual(said(outbox.asked))
  })

  test('is signed with the key of the certificate', async () => {
    const outbox = await outboxOf()
    const task_id = randomUUID()
    await outbox.report(task_id, result)
    await outbox.flush()
    const body = outbox.asked[0]!.body as TaskResult
    const signature = Buffer.from(body.receipt_signature!, 'base64url')
    const key = createPublicKey(first.key)
    const isGood = (text: string) => verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature)
    expect([isGood(receiptTextOf(task_id, body)), isGood(receiptTextOf(randomUUID(), body))]).toEqual([true, false])
  })

  test('SG-22 is signed anew where the key that signed it counts no more, and not where that is the last one', async () => {
    const outbox = await outboxOf(() => new Error('reset'))
    await outbox.report(randomUUID(), result)
    await outbox.flush()
    const former = (await outbox.state.reports())[0]!.key_thumbprint
    await outbox.state.keepIdentity('current', { ...second, former_key_thumbprint: former })
    const renewed = await outboxOf(() => new Error('reset'), outbox.state)
    await renewed.flush()
    expect(said(renewed.asked)).toEqual(said(outbox.asked))
    await outbox.state.keepIdentity('current', second)
    const enrolled_anew = await outboxOf(() => heard, outbox.state)
    await enrolled_anew.flush()
    const [[key, body]] = said(enrolled_anew.asked) as [[string, TaskResult]]
    const [[key_before, body_before]] = said(outbox.asked) as [[string, TaskResult]]
    expect([key === key_before, body.receipt_signature === body_before.receipt_signature]).toEqual([false, false])
    expect({ ...body, receipt_signature: '' }).toEqual({ ...body_before, receipt_signature: '' })
  })
})

describe('what happened', () => {
  const drift = {
    kind: 'drift_restored',
    at: '2026-03-01T00:00:00.000Z',
    allocation_id: randomUUID(),
    generation: 1,
    found: 'changed',
  } as const

  test('is kept until it was heard, and told a hundred at a time', async () => {
    let is_gone = true
    const outbox = await outboxOf(() => (is_gone ? new Error('reset') : heard))
    for (let n = 0; n < 150; n += 1) await outbox.tell(drift)
    expect([await outbox.flush(), outbox.waiting().events]).toEqual([false, 150])
    is_gone = false
    const next = await outboxOf(() => heard, outbox.state)
    expect([await next.flush(), next.waiting().events]).toEqual([true, 0])
    const batches = next.asked.map(({ body }) => (body as { events: { event_id: string }[] }).events)
    expect(batches.map(({ length }) => length)).toEqual([100, 50])
    expect(new Set(batches.flat().map(({ event_id }) => event_id)).size).toBe(150)
  })

  test('SG-21 one that is refused for good takes none of the others with it', async () => {
    const strange = randomUUID()
    const heardOnes: string[] = []
    const outbox = await outboxOf(({ body }) => {
      const { events } = body as { events: { event_id: string; allocation_id: string }[] }
      if (events.some(({ allocation_id }) => allocation_id === strange)) return refusal(403, 'insufficient_permissions', 'scope_mismatch')
      heardOnes.push(...events.map(({ event_id }) => event_id))
      return heard
    })
    for (let n = 0; n < 30; n += 1) await outbox.tell(n === 17 ? { ...drift, allocation_id: strange } : drift)
    expect([await outbox.flush(), outbox.waiting().events]).toEqual([true, 0])
    expect(new Set(heardOnes).size).toBe(29)
  })
})
