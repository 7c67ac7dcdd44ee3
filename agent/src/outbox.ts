import { randomUUID } from 'node:crypto'
import { type NodeEvent, reportNodeEvents } from '@gatehouse/contract/node-events'
import { receiptTextOf, type TaskResult } from '@gatehouse/contract/node-tasks'
import { reportTask } from '@gatehouse/contract/nodes'
import { type Answer, isIdentityRefused, refusalIn } from './door.ts'
import type { Happening } from './hands.ts'
import type { Identity } from './identity.ts'
import type { Log } from './log.ts'
import { pathOf } from './path-of.ts'
import type { Report, State } from './state.ts'
import type { Wearing } from './wearing.ts'

// As long as the control plane remembers the key of a request.
const repeatable_ms = 24 * 3600 * 1000
const at_once = 4
const events_at_once = 100
const events_kept = 10_000

export interface Outbox {
  /** Whether something was said of this task before; then it is said again, word by word, and the task is not performed again. */
  readonly repeat: (task_id: string) => Promise<boolean>
  readonly report: (task_id: string, result: TaskResult) => Promise<void>
  readonly tell: (happening: Happening) => Promise<void>
  /** Says what was not heard yet; whether all of it was. */
  readonly flush: () => Promise<boolean>
  readonly waiting: () => { reports: number; events: number }
}

interface Sending {
  readonly state: State
  readonly wearing: Wearing
  readonly log: Log
  readonly now: () => Date
  /** There is something to say. */
  readonly wake: () => unknown
}

const isHeard = ({ status }: Answer): boolean => status >= 200 && status < 300
/** No use in saying it again: not that we may not speak, or not now, but that this is not to be said. */
const isRefusedForGood = (answer: Answer): boolean => {
  const { status } = answer
  const { code } = refusalIn(answer)
  if (status < 400 || status >= 500 || [401, 408, 425, 429].includes(status) || isIdentityRefused(answer)) return false
  return code !== 'none' && code !== 'idempotency_in_progress'
}

const inTurns = async <T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
  const rest = [...items]
  const next = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: at_once }, next))
}

/** Everything that the node has to say, on disk before it is said and until it was heard. */
export const openOutbox = async ({ state, wearing, log, now, wake }: Sending): Promise<Outbox> => {
  const reports = new Map((await state.reports()).map((report) => [report.task_id, report]))
  const events = new Map((await state.events()).map((event) => [event.event_id as string, event]))

  const keep = async (report: Report): Promise<void> => {
    await state.keepReport(report)
    reports.set(report.task_id, report)
  }
  const forget = async (task_id: string): Promise<void> => {
    await state.dropReport(task_id)
    reports.delete(task_id)
  }
  const signed = (
    identity: Identity,
    task_id: string,
    result: TaskResult,
  ): Pick<Report, 'idempotency_key' | 'key_thumbprint' | 'result'> => ({
    idempotency_key: randomUUID(),
    key_thumbprint: identity.key_thumbprint,
    result: { ...result, receipt_signature: identity.sign(receiptTextOf(task_id, result)) },
  })

  const say = async (report: Report): Promise<boolean> => {
    const { task_id } = report
    const { identity, door } = wearing.current()
    if (![identity.key_thumbprint, identity.former_key_thumbprint].includes(report.key_thumbprint)) {
      // Signed too long ago to be believed: the same is said anew.
      await keep({ ...report, ...signed(identity, task_id, report.result) })
      return say(reports.get(task_id)!)
    }
    const path = pathOf(reportTask, { node_id: identity.node_id, task_id })
    const answer = await door.ask({ method: 'POST', path, body: report.result, idempotency_key: report.idempotency_key })
    if (isHeard(answer)) await keep({ ...report, settled_at: now().toISOString() })
    else if (isRefusedForGood(answer)) {
      log('warning', 'report_refused', { task_id, status: answer.status, code: refusalIn(answer).code })
      await forget(task_id)
    } else return false
    return true
  }

  const sayEvents = async (batch: readonly NodeEvent[]): Promise<boolean> => {
    const { identity, door } = wearing.current()
    const answer = await door.ask({
      method: 'POST',
      path: pathOf(reportNodeEvents, { node_id: identity.node_id }),
      body: { events: batch },
    })
    if (!isHeard(answer) && !isRefusedForGood(answer)) return false
    // It takes all or none: those beside the one that it refuses are told by themselves.
    if (!isHeard(answer) && batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      return (await sayEvents(batch.slice(0, half))) && sayEvents(batch.slice(half))
    }
    // Of one that it refuses for good it would say the same tomorrow; it is in our own log.
    if (!isHeard(answer)) log('warning', 'event_refused', { ...batch[0]!, status: answer.status, code: refusalIn(answer).code })
    for (const { event_id } of batch) {
      await state.dropEvent(event_id)
      events.delete(event_id)
    }
    return true
  }

  const unsettled = () => [...reports.values()].filter(({ settled_at }) => settled_at === null)

  const flushAll = async (): Promise<boolean> => {
    let is_all_heard = true
    const attempt = async (act: () => Promise<boolean>) => {
      const is_heard = await act().catch(() => false)
      is_all_heard &&= is_heard
    }
    for (const { task_id, settled_at } of reports.values())
      if (settled_at !== null && Date.parse(settled_at) + repeatable_ms < now().getTime()) await forget(task_id)
    await inTurns(unsettled(), (report) => attempt(() => say(report)))
    while (events.size > 0 && is_all_heard) await attempt(() => sayEvents([...events.values()].slice(0, events_at_once)))
    return is_all_heard && unsettled().length === 0
  }
  let flushing: Promise<boolean> | undefined

  return {
    repeat: async (task_id) => {
      const report = reports.get(task_id)
      if (!report) return false
      const again = { ...report, settled_at: null }
      // Where it cannot be noted it is said all the same: whatever else came with the task must not wait for room.
      if (report.settled_at !== null) await keep(again).catch(() => reports.set(task_id, again))
      wake()
      return true
    },
    report: async (task_id, result) => {
      const { identity } = wearing.current()
      const report: Report = { task_id, ...signed(identity, task_id, result), made_at: now().toISOString(), settled_at: null }
      await keep(report).catch((error: unknown) => {
        // That something failed is said also where it cannot be written down: after a crash it is asked for again.
        if (result.outcome !== 'failed') throw error
        reports.set(task_id, report)
      })
      wake()
    },
    tell: async (happening) => {
      const event = { ...happening, event_id: randomUUID() } as NodeEvent
      log('info', happening.kind, {
        allocation_id: event.allocation_id,
        generation: event.generation,
        session_id: event.session_id ?? null,
      })
      // A node that is cut off for weeks keeps the oldest; they are all in its own log.
      if (events.size >= events_kept) return
      await state.keepEvent(event)
      events.set(event.event_id, event)
      wake()
    },
    // One at a time: two would say the same thing twice.
    flush: () => {
      flushing ??= flushAll().finally(() => {
        flushing = undefined
      })
      return flushing
    },
    waiting: () => ({ reports: unsettled().length, events: events.size }),
  }
}
