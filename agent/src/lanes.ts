export interface Lanes {
  /** Begins when those before it in the same lane are done and one of the few places is free. Never rejects: the work sees to its own faults. */
  readonly add: (lane: string, work: () => Promise<void>) => void
  readonly isBusy: (lane: string) => boolean
  /** Nothing new is begun; resolves when what is under way is done. */
  readonly close: () => Promise<void>
}

/** One after the other within a lane, lanes beside each other, and no more at once than there are places. */
export const openLanes = (places: number): Lanes => {
  const waiting = new Map<string, (() => Promise<void>)[]>()
  const running = new Set<string>()
  let is_closed = false
  let whenIdle: (() => void) | undefined

  const begin = () => {
    for (const [lane, works] of waiting) {
      if (is_closed || running.size >= places) break
      if (running.has(lane)) continue
      const work = works.shift()
      if (works.length === 0) waiting.delete(lane)
      if (!work) continue
      running.add(lane)
      void work().finally(() => {
        running.delete(lane)
        begin()
        if (running.size === 0) whenIdle?.()
      })
    }
  }

  return {
    add: (lane, work) => {
      if (is_closed) return
      const works = waiting.get(lane)
      if (works) works.push(work)
      else waiting.set(lane, [work])
      begin()
    },
    isBusy: (lane) => running.has(lane) || waiting.has(lane),
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
