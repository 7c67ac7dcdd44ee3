import { randomUUID } from 'node:crypto'
import { waitForTasks } from '@gatehouse/contract/nodes'
import { isGone, openAllocationBook } from './allocation-book.ts'
import type { Answer, Door, Showing } from './door.ts'
import { openDoor } from './door.ts'
import type { MakeHands } from './hands.ts'
import { deliveryIn, openIntake } from './intake.ts'
import { openLanes } from './lanes.ts'
import { newLink } from './link.ts'
import type { Log } from './log.ts'
import { openOutbox } from './outbox.ts'
import { pathOf } from './path-of.ts'
import { pause, pauseAfter, sleeper } from './pauses.ts'
import type { State } from './state.ts'
import type { AgentStatus } from './status.ts'
import { agent_version } from './version.ts'
import { openWearing } from './wearing.ts'

export const ordinaryTimes = {
  wait_seconds: 25,
  longest_pause_ms: 30_000,
  refused_pause_ms: 5 * 60_000,
  drift_ms: 5_000,
  /** A last word before the end. */
  parting_ms: 5_000,
}
export type Times = typeof ordinaryTimes

export interface AgentParts {
  readonly state: State
  readonly makeHands: MakeHands
  readonly log: Log
  readonly now?: () => Date
  readonly open?: (showing: Showing) => Door
  /** Where the door is, if not where the node enrolled. */
  readonly url?: string
  readonly times?: Partial<Times>
}

export interface RunningAgent {
  readonly status: () => AgentStatus
  /** Finishes what is under way, and says what it can of it. */
  readonly stop: () => Promise<void>
}

/** Asks for tasks, performs them, reports them, keeps accounts as they should be, and renews its certificate, until it is stopped. */
export const startAgent = async ({
  state,
  makeHands,
  log,
  now = () => new Date(),
  open = openDoor,
  times = {},
  url,
}: AgentParts): Promise<RunningAgent> => {
  const { wait_seconds, longest_pause_ms, refused_pause_ms, drift_ms, parting_ms } = { ...ordinaryTimes, ...times }
  // Whoever was started anew has lost what it held: by this the control plane knows, and gives it again at once.
  const run = randomUUID()
  const started_at = now().toISOString()
  const stopping = new AbortController()
  const speaking = sleeper()
  // How often on end something was said and not heard: then it is not said again at every new word.
  let unheard = 0
  const wearing = await openWearing(state, { open: (showing) => open(url === undefined ? showing : { ...showing, url }), log })
  const book = await openAllocationBook(state, now())
  const outbox = await openOutbox({ state, wearing, log, now, wake: () => unheard === 0 && speaking.wake() })
  const lanes = openLanes(8)
  const hands = await makeHands(outbox.tell)
  const intake = openIntake({ wearing, book, outbox, lanes, hands, log, now })
  const link = newLink(log, now, { longest_pause_ms, refused_pause_ms })
  let renew_after = Date.parse(wearing.current().identity.renew_after)
  let renewals_failed = 0

  const isStopping = () => stopping.signal.aborted

  /** Takes in what an answer brought; returns how long to wait before the next question. */
  const takeIn = async (answer: Answer): Promise<number> => {
    const delivery = answer.status === 200 ? deliveryIn(answer.body) : undefined
    if (!delivery) return link.failed(answer)
    link.answered()
    speaking.wake()
    const told = Date.parse(delivery.renew_after)
    if (!Number.isNaN(told) && renewals_failed === 0) renew_after = told
    await intake.take(delivery)
    return 0
  }

  const renewing = async (how: (run: string) => Promise<Answer | undefined>): Promise<void> => {
    try {
      const answer = await how(run)
      renewals_failed = 0
      renew_after = Date.parse(wearing.current().identity.renew_after)
      if (answer) await takeIn(answer)
    } catch (error) {
      renewals_failed += 1
      renew_after = now().getTime() + pauseAfter(renewals_failed, refused_pause_ms)
      log('warning', 'certificate_not_renewed', { why: error instanceof Error ? error.message : 'unknown' })
    }
  }

  const askOnce = async (): Promise<number> => {
    const { identity, door } = wearing.current()
    // Whether the door is open is to be known at once: only then is there time to wait.
    const seconds = link.state().state === 'connected' ? wait_seconds : 0
    const path = pathOf(waitForTasks, { node_id: identity.node_id }, { run, wait_seconds: seconds, agent_version })
    const asked_at = Date.now()
    try {
      const answer = await door.ask({ method: 'GET', path, timeout_ms: (seconds + 15) * 1000, signal: stopping.signal })
      const next = await takeIn(answer)
      // An answer that did not wait although there was nothing: whoever asks at once again would do nothing else.
      const is_hasty = seconds > 0 && answer.status === 200 && deliveryIn(answer.body)?.tasks.length === 0 && Date.now() - asked_at < 200
      return is_hasty ? Math.max(next, 250) : next
    } catch (error) {
      return isStopping() ? 0 : link.failed(error as Error)
    }
  }

  const asking = async (): Promise<void> => {
    await renewing(wearing.takeUpNext)
    while (!isStopping()) {
      const ms = await askOnce()
      if (ms > 0) await pause(ms, stopping.signal)
      // Not while our certificate is not taken: a question with it only rings the bell once more.
      if (!isStopping() && now().getTime() >= renew_after && link.state().state === 'connected') await renewing(wearing.renew)
    }
  }

  const reporting = async (): Promise<void> => {
    while (!isStopping()) {
      // Where our certificate is not taken there is nobody to tell; whoever asks for tasks finds out when that changes.
      if (link.state().state !== 'refused') unheard = (await outbox.flush()) ? 0 : unheard + 1
      await speaking.sleep(unheard === 0 ? 60_000 : pauseAfter(unheard, longest_pause_ms), stopping.signal)
    }
  }

  /** In the lane of its allocation, so that nothing is put back in the midst of a task. */
  const keepLikeWanted = (allocation_id: string): void => {
    if (lanes.isBusy(allocation_id)) return
    lanes.add(allocation_id, async () => {
      const known = book.get(allocation_id)
      // One that was begun and not finished is followed by the same task or a later one: what was before it is not to be brought back.
      if (!known?.applied || known.applied.generation !== known.begun || isGone(known)) return
      const { username, applied } = known
      try {
        const is_drift = await hands.drift({ allocation_id, username, ...applied }, now())
        if (is_drift) await book.keep({ ...known, drift_found_at: now().toISOString() })
      } catch (error) {
        log('error', 'drift_not_judged', { allocation_id, why: error instanceof Error ? error.message : 'unknown' })
      }
    })
  }

  const keeping = async (): Promise<void> => {
    while (!isStopping()) {
      for (const { allocation_id } of book.all()) keepLikeWanted(allocation_id.toLowerCase())
      await pause(drift_ms, stopping.signal)
    }
  }

  log('info', 'agent_started', { node_id: wearing.current().identity.node_id, agent_version })
  const loops = Promise.all([asking(), reporting(), keeping()])

  return {
    status: () => {
      const { identity } = wearing.current()
      return {
        node_id: identity.node_id,
        url: identity.url,
        agent_version,
        started_at,
        certificate: { expires_at: identity.expires_at, renew_after: new Date(renew_after).toISOString() },
        server: link.state(),
        signers: intake.kids(),
        allocations: book.all().map(({ allocation_id, username, begun, applied, drift_found_at }) => ({
          allocation_id,
          username,
          generation_begun: begun,
          generation_applied: applied?.generation ?? null,
          type: applied?.type ?? null,
          applied_at: applied?.at ?? null,
          drift_found_at,
        })),
        waiting: outbox.waiting(),
        refused_tasks: intake.refused(),
      }
    },
    stop: async () => {
      stopping.abort()
      await lanes.close()
      await loops
      await Promise.race([outbox.flush(), pause(parting_ms)])
      await hands.close()
      wearing.close()
      log('info', 'agent_stopped')
    },
  }
}
