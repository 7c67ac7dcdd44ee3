import { setImmediate } from 'node:timers/promises'
import type { Wakes } from '#ground/db/listen.ts'

/** So many at a time for one node: an agent waits once, and perhaps again before it knows that its line is dead. */
const most = 4

interface Wait {
  readonly ending: AbortController
  /** Null: it does not listen at this moment, and looks at once when it does. */
  wake: (() => void) | null
  is_woken: boolean
}

interface Waiting {
  /** The newest last. */
  readonly waits: Wait[]
  readonly over: AbortController
}

/**
 * Those who wait for the same node, in the order in which they came. What is said is heard by the newest alone, which looks; when that one
 * is done, the next one looks for what it may have left. So a node looks once, however many lines it keeps open.
 */
export const nodeWaits = (wakes: Wakes) => {
  const nodes = new Map<string, Waiting>()

  const wakeNewest = ({ waits }: Waiting): void => {
    const newest = waits.at(-1)
    if (newest?.wake) newest.wake()
    else if (newest) newest.is_woken = true
  }

  const listen = async (node_id: string, waiting: Waiting): Promise<void> => {
    const { signal } = waiting.over
    for (let next = wakes.next(node_id, signal); ; ) {
      await next
      if (signal.aborted) return
      // At once: what is said while the newest looks must not be missed.
      next = wakes.next(node_id, signal)
      wakeNewest(waiting)
      // Whatever tells of tasks may have been closed, and then tells all the time.
      await setImmediate()
    }
  }

  const waitingFor = (node_id: string): Waiting => {
    const found = nodes.get(node_id)
    if (found) return found
    const made: Waiting = { waits: [], over: new AbortController() }
    nodes.set(node_id, made)
    void listen(node_id, made)
    return made
  }

  /** Until `ending` is aborted: by whoever waits, when he is done or gone, or by this, when others have come since. */
  return (node_id: string, ending: AbortController): ((signal: AbortSignal) => Promise<void>) => {
    if (ending.signal.aborted) return async () => {}
    const waiting = waitingFor(node_id)
    const { waits, over } = waiting
    const mine: Wait = { ending, wake: null, is_woken: false }
    waits.push(mine)
    ending.signal.addEventListener('abort', () => {
      const was_newest = waits.at(-1) === mine
      waits.splice(waits.indexOf(mine), 1)
      if (was_newest) wakeNewest(waiting)
      if (waits.length > 0) return
      nodes.delete(node_id)
      over.abort()
    })
    if (waits.length > most) waits[0]!.ending.abort()

    return (signal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => {
        if (mine.wake === wake) mine.wake = null
        resolve()
      }
      mine.wake = wake
      if (mine.is_woken || signal.aborted) wake()
      mine.is_woken = false
      signal.addEventListener('abort', wake, { once: true })
      return promise
    }
  }
}
