import { describeNode, type NodeDescription, reportStuckSteps, type StuckStep } from '@gatehouse/contract/node-description'
import type { Operation } from '@gatehouse/contract/operation'
import { refusalIn } from './door.ts'
import { type Hands, whyOf } from './hands.ts'
import type { Lanes } from './lanes.ts'
import type { Log } from './log.ts'
import { pathOf } from './path-of.ts'
import type { Wearing } from './wearing.ts'

interface Parts {
  readonly hands: Pick<Hands, 'describe'>
  readonly lanes: Pick<Lanes, 'lasting'>
  readonly wearing: Wearing
  readonly log: Log
  readonly stuck_ms: number
  readonly describe_ms: number
}

export interface SelfReport {
  /** Looks, and tells what has changed where the control plane understands it; what was not heard is told the next time. */
  readonly look: (protocol: number) => Promise<void>
  readonly stuck: () => readonly StuckStep[]
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What the node says of itself: what it has, where it is reached, and which of its steps do not come to an end. */
export const openSelfReport = ({ hands, lanes, wearing, log, stuck_ms, describe_ms }: Parts): SelfReport => {
  let stuck: readonly StuckStep[] = []
  let stuck_heard = '[]'
  let description_heard: string | undefined
  let described_at = Number.NEGATIVE_INFINITY
  let failure: string | undefined

  /** Whether there is no use in saying the same again. */
  const say = async (operation: Pick<Operation, 'id' | 'path'>, body: unknown): Promise<boolean> => {
    const { identity, door } = wearing.current()
    const answer = await door.ask({ method: 'POST', path: pathOf(operation, { node_id: identity.node_id }), body })
    if (answer.status >= 200 && answer.status < 300) return true
    // Said again it would be refused again, and each time it is an alarm over there.
    const is_for_good = [400, 403, 404, 422].includes(answer.status)
    if (is_for_good) log('warning', 'self_report_refused', { what: operation.id, status: answer.status, code: refusalIn(answer).code })
    return is_for_good
  }

  const lookForStuck = () => {
    const now = lanes
      .lasting(stuck_ms)
      .map(({ lane, step, since }) => ({ step, allocation_id: uuid.test(lane) ? lane : null, since }) as StuckStep)
    const nameOf = ({ step, allocation_id, since }: StuckStep) => `${step} ${allocation_id} ${since}`
    const [before, after] = [new Set(stuck.map(nameOf)), new Set(now.map(nameOf))]
    for (const each of now.filter((one) => !before.has(nameOf(one)))) log('error', 'step_stuck', { ...each })
    for (const each of stuck.filter((one) => !after.has(nameOf(one)))) log('info', 'step_no_longer_stuck', { ...each })
    stuck = now
  }

  const describe = async (): Promise<NodeDescription | undefined> => {
    if (performance.now() - described_at < describe_ms) return undefined
    try {
      const found = await hands.describe()
      described_at = performance.now()
      failure = undefined
      return found
    } catch (error) {
      if (failure !== whyOf(error)) log('warning', 'node_not_described', { why: whyOf(error) })
      failure = whyOf(error)
      return undefined
    }
  }

  return {
    look: async (protocol) => {
      lookForStuck()
      if (protocol < 2) {
        // One that understands it later has heard nothing of it.
        description_heard = undefined
        described_at = Number.NEGATIVE_INFINITY
        stuck_heard = '[]'
        return
      }
      const steps = JSON.stringify(stuck)
      if (steps !== stuck_heard && (await say(reportStuckSteps, { steps: stuck.slice(0, 100) }))) stuck_heard = steps
      const description = await describe()
      const text = JSON.stringify(description)
      if (description === undefined || text === description_heard) return
      if (await say(describeNode, description)) description_heard = text
      else described_at = Number.NEGATIVE_INFINITY
    },
    stuck: () => stuck,
  }
}
