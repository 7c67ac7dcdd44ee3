import { randomUUID } from 'node:crypto'
import { waitForTasks } from '@gatehouse/contract/nodes'
import { closedOf, endsOf, isGone, openAllocationBook, wantedOf } from './allocation-book.ts'
import type { Answer, Door, Showing } from './door.ts'
import { openDoor } from './door.ts'
import { type Ended, type Hands, HandsFailed, type MakeHands, NotRestored, type Wanted, whyOf } from './hands.ts'
import { deliveryIn, openIntake } from './intake.ts'
import { openLanes } from './lanes.ts'
import { newLink } from './link.ts'
import type { Log } from './log.ts'
import { openOutbox } from './outbox.ts'
import { pathOf } from './path-of.ts'
import { pause, pauseAfter, sleeper } from './pauses.ts'
import { failureOf } from './perform-task.ts'
import { openPuttingAway } from './put-away-others.ts'
import { openSelfReport } from './self-report.ts'
import type { AllocationState, State } from './state.ts'
import type { AgentStatus } from './status.ts'
import { agent_version } from './version.ts'
import { openWearing } from './wearing.ts'

export const ordinaryTimes = {
  wait_seconds: 25,
  longest_pause_ms: 30_000,
  refused_pause_ms: 5 * 60_000,
  drift_ms: 5_000,
  /** How soon after its time a key's sessions are looked for. */
  ends_ms: 250,
  /** What takes longer is told. */
  stuck_ms: 60_000,
  describe_ms: 60_000,
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
  const { wait_seconds, longest_pause_ms, refused_pause_ms, drift_ms, ends_ms, stuck_ms, describe_ms, parting_ms } = {
    ...ordinaryTimes,
    ...times,
  }
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
  const lanes = openLanes(now)
  let protocol = 1
  const system = await makeHands(outbox.tell)
  const puttingAway = openPuttingAway({ hands: system, book, log, node_id: wearing.current().identity.node_id })
  const hands: Hands = {
    ...system,
    // A new tenant does not come to where a former one may still be.
    provisionUser: async (...asked) => {
      if (!(await puttingAway.isDone())) throw new HandsFailed('accounts_left')
      return system.provisionUser(...asked)
    },
  }
  const intake = openIntake({ wearing, book, outbox, lanes, hands, log, now, speaks: () => protocol })
  const selfReport = openSelfReport({ hands, lanes, wearing, log, stuck_ms, describe_ms })
  const link = newLink(log, now, { longest_pause_ms, refused_pause_ms })
  let renew_after = Date.parse(wearing.current().identity.renew_after)
  let renewals_failed = 0
  // What is wanted is given before there is nothing to give; asked with a little patience, since somebody else may have had it for a moment.
  let answered_with_nothing = 0
  const isAllGiven = () => answered_with_nothing >= 2

  const isStopping = () => stopping.signal.aborted

  /** Takes in what an answer brought; returns how long to wait before the next question. */
  const takeIn = async (answer: Answer): Promise<number> => {
    const delivery = answer.status === 200 ? deliveryIn(answer.body) : undefined
    if (!delivery) return link.failed(answer)
    link.answered()
    if (answer.protocol !== protocol) log('info', 'protocol', { version: answer.protocol ?? 1 })
    protocol = answer.protocol ?? 1
    speaking.wake()
    const told = Date.parse(delivery.renew_after)
    if (!Number.isNaN(told) && renewals_failed === 0) renew_after = told
    await intake.take(delivery)
    if (delivery.tasks.length === 0) answered_with_nothing += 1
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
      log('warning', 'certificate_not_renewed', { why: whyOf(error) })
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
      // One that came before a crash may be taken where the former one is not; at the start nobody may have been there to ask.
      if (!isStopping() && link.state().state === 'refused') await renewing(wearing.takeUpNext)
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

  /** What cannot be put right is told when it is found, and again when it has become something else. */
  const lookAfter = async (known: AllocationState, wanted: Wanted): Promise<void> => {
    const { allocation_id, generation } = wanted
    const before = known.trouble ?? null
    // What was begun and is not done yet will be reported: with what was ended for it until then.
    const keepEnded = known.applied?.generation === known.begun ? undefined : (ended: Ended) => book.noteEnded(allocation_id, ended)
    const looked = await hands
      .drift(wanted, now(), keepEnded, () => lanes.isWaitedFor(allocation_id.toLowerCase()))
      .then(
        (is_drift) => ({ is_drift, is_written: true, trouble: null }),
        (error: unknown) => ({ is_drift: false, is_written: error instanceof NotRestored, trouble: failureOf(error), error }),
      )
    if (looked.trouble !== null && looked.trouble !== before) {
      log('error', 'drift_not_restored', {
        allocation_id,
        failure: looked.trouble,
        why: whyOf('error' in looked ? looked.error : undefined),
      })
      await outbox.tell({ kind: 'drift_found', at: now().toISOString(), allocation_id, generation, failure: looked.trouble })
    }
    const is_first_written = looked.is_written && known.begun_task?.is_written === false
    if (!looked.is_drift && looked.trouble === before && !is_first_written) return
    await book.keep({
      ...(book.get(allocation_id) ?? known),
      ...(is_first_written ? { begun_task: { ...known.begun_task!, is_written: true } } : {}),
      ...(looked.is_drift ? { drift_found_at: now().toISOString() } : {}),
      trouble: looked.trouble,
    })
  }

  /** Closed also for the agent after us; where that cannot be written down, for as long as we run. */
  const settled = async (known: AllocationState): Promise<AllocationState> => {
    if (known.in_doubt !== 'open' || !isAllGiven()) return known
    const closed: AllocationState = { ...known, in_doubt: 'closed' }
    log('warning', 'allocation_not_asked_for', { allocation_id: known.allocation_id, username: known.username })
    await book.keep(closed).catch(() => book.hold(closed))
    return closed
  }

  /** In the lane of its allocation, so that nothing is put back in the midst of a task. */
  const keepLikeWanted = (allocation_id: string): boolean => {
    if (lanes.isBusy(allocation_id)) return false
    lanes.add(allocation_id, 'look_after', async () => {
      const found = book.get(allocation_id)
      const wanted = found && !isGone(found) ? wantedOf(found) : undefined
      if (!found || !wanted) return
      const known = await settled(found)
      await lookAfter(known, known.in_doubt === 'closed' ? closedOf(wanted) : wanted).catch((error: unknown) => {
        log('error', 'drift_not_judged', { allocation_id, why: whyOf(error) })
      })
    })
    return true
  }

  const keeping = async (): Promise<void> => {
    while (!isStopping()) {
      // Not waited for: to put away what a former node left takes as long as its homes are large.
      void puttingAway.isDone()
      for (const { allocation_id } of book.all()) keepLikeWanted(allocation_id.toLowerCase())
      await pause(drift_ms, stopping.signal)
    }
  }

  /** What ends at its time does not wait for the next look at all. */
  const ending = async (): Promise<void> => {
    const seen_until = new Map<string, number>()
    while (!isStopping()) {
      const time = now().getTime()
      for (const each of book.all()) {
        const after = seen_until.get(each.allocation_id) ?? time
        const is_over = endsOf(each).some((end) => end > after && end <= time)
        // Where it is busy with something else it is seen to when that is done.
        if (!is_over || keepLikeWanted(each.allocation_id.toLowerCase())) seen_until.set(each.allocation_id, time)
      }
      await pause(ends_ms, stopping.signal)
    }
  }

  const tellingOfItself = async (): Promise<void> => {
    while (!isStopping()) {
      await selfReport.look(link.state().state === 'connected' ? protocol : 1).catch(() => {})
      await pause(drift_ms, stopping.signal)
    }
  }

  log('info', 'agent_started', { node_id: wearing.current().identity.node_id, agent_version })
  const loops = Promise.all([asking(), reporting(), keeping(), ending(), tellingOfItself()])

  return {
    status: () => {
      const { identity } = wearing.current()
      return {
        node_id: identity.node_id,
        url: url ?? identity.url,
        agent_version,
        started_at,
        certificate: { expires_at: identity.expires_at, renew_after: new Date(renew_after).toISOString() },
        server: link.state(),
        signers: intake.kids(),
        allocations: book.all().map(({ allocation_id, username, begun, applied, drift_found_at, trouble, in_doubt }) => ({
          allocation_id,
          username,
          generation_begun: begun,
          generation_applied: applied?.generation ?? null,
          type: applied?.type ?? null,
          applied_at: applied?.at ?? null,
          drift_found_at,
          trouble: trouble ?? (in_doubt === 'closed' ? 'not_asked_for' : null),
        })),
        accounts_left: puttingAway.failure(),
        protocol,
        stuck: selfReport.stuck(),
        unenforced: hands.unenforced(),
        waiting: outbox.waiting(),
        refused_tasks: intake.refused(),
      }
    },
    stop: async () => {
      stopping.abort()
      const idle = lanes.close()
      await hands.close()
      await idle
      await loops
      await Promise.race([outbox.flush(), pause(parting_ms)])
      wearing.close()
      log('info', 'agent_stopped')
    },
  }
}
