/** What takes long, for somebody to look. */
export interface Lasting {
  readonly lane: string
  readonly step: string
  readonly since: string
}

export interface Lanes {
  /** Begins when those before it in the same lane are done. `step`: what it is, in a word. Never rejects: the work sees to its own faults. */
  readonly add: (lane: string, step: string, work: () => Promise<void>) => void
  readonly isBusy: (lane: string) => boolean
  /** Somebody waits for what is under way there. */
  readonly isWaitedFor: (lane: string) => boolean
  /** What has been under way for so long. */
  readonly lasting: (ms: number) => readonly Lasting[]
  /** Nothing new is begun; resolves when what is under way is done. */
  readonly close: () => Promise<void>
}

/**
 * One after the other within a lane, and as many lanes beside each other as there are: an end of access never waits for a place that something
 * else has. What is bounded in number (making accounts, removing them) has places where it is done.
 */
export const openLanes = (now: () => Date): Lanes => {
  const waiting = new Map<string, { step: string; work: () => Promise<void> }[]>()
  const running = new Map<string, Lasting & { readonly at: number }>()
  let is_closed = false
  let whenIdle: (() => void) | undefined

  const begin = (lane: string) => {
    const works = waiting.get(lane)
    if (is_closed || running.has(lane) || works === undefined) return
    const { step, work } = works.shift()!
    if (works.length === 0) waiting.delete(lane)
    // How long it takes is told by a clock that nobody sets.
    running.set(lane, { lane, step, since: now().toISOString(), at: performance.now() })
    void work().finally(() => {
      running.delete(lane)
      begin(lane)
      if (running.size === 0) whenIdle?.()
    })
  }

  return {
    add: (lane, step, work) => {
      if (is_closed) return
      const works = waiting.get(lane)
      if (works) works.push({ step, work })
      else waiting.set(lane, [{ step, work }])
      begin(lane)
    },
    isBusy: (lane) => running.has(lane) || waiting.has(lane),
    isWaitedFor: (lane) => running.has(lane) && waiting.has(lane),
    lasting: (ms) => [...running.values()].flatMap(({ at, ...told }) => (performance.now() - at >= ms ? [told] : [])),
    close: () => {
      is_closed = true
      waiting.clear()
      if (running.size === 0) return Promise.resolve()
      return new Promise((resolve) => {
        whenIdle = resolve
      })
    },
  }
}
