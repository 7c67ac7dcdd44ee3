/**
 * A few places, and a line of those who want one. Unlike a semaphore it hands a place to nobody: who is in the line comes back for it, and who cannot
 * come yet keeps none from the others. Among those who can, the one that has stood longest is first.
 */
export const fewPlaces = (most: number) => {
  /** In the order in which they came; with what wakes them, where they wait. */
  const line = new Map<object, (() => void) | undefined>()
  let free = most
  return {
    giveBack: (): void => {
      free += 1
      for (const [who, wake] of line) {
        line.set(who, undefined)
        wake?.()
      }
    },
    line: () => {
      const who = {}
      const was_empty = line.size === 0
      let is_new = true
      line.set(who, undefined)
      return {
        /** Who has just come leaves the first try to those who stood there before. */
        take: (): boolean => {
          const mayTry = !is_new || was_empty
          is_new = false
          if (!mayTry || free === 0) return false
          free -= 1
          line.delete(who)
          return true
        },
        untilOneIsFree: (): Promise<void> =>
          new Promise((resolve) => {
            // Those who were woken before are there first.
            if (free > 0) setImmediate(resolve)
            else line.set(who, resolve)
          }),
        leave: () => void line.delete(who),
      }
    },
  }
}
