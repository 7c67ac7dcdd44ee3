/** How long to wait after so many failures on end: longer each time up to a bound, and never all nodes at the same moment. */
export const pauseAfter = (failures: number, longest_ms: number, chance: () => number = Math.random): number => {
  const longest = Math.min(longest_ms, 500 * 2 ** Math.min(failures - 1, 20))
  return Math.round(longest / 2 + (chance() * longest) / 2)
}

/** Ends at its time, or when one of these calls it off. */
export const pause = (ms: number, ...signals: readonly AbortSignal[]): Promise<void> =>
  new Promise((resolve) => {
    if (signals.some(({ aborted }) => aborted)) return resolve()
    const end = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    for (const signal of signals) signal.addEventListener('abort', end)
  })

/** Somebody who sleeps until there is something to do. A call that comes while he is awake is not lost. */
export const sleeper = () => {
  let woken = new AbortController()
  return {
    wake: () => woken.abort(),
    sleep: async (ms: number, signal: AbortSignal): Promise<void> => {
      await pause(ms, signal, woken.signal)
      woken = new AbortController()
    },
  }
}
