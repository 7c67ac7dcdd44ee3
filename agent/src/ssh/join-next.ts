/**
 * One look for all who ask at about the same time. Who asks while one is under way gets the next: what it sees was looked at after it was
 * asked for, never before.
 */
export const joinNext = <T>(look: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | undefined
  let next: Promise<T> | undefined
  const begin = (): Promise<T> => {
    next = undefined
    const begun = look().finally(() => {
      if (running === begun) running = undefined
    })
    running = begun
    return begun
  }
  return () => {
    if (running === undefined) return begin()
    next ??= running.then(begin, begin)
    return next
  }
}
