/** So many at once, the others in the order in which they came. What one kind of work takes up is never another's to wait for. */
export const openPlaces = (count: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let free = count
  const waiting: (() => void)[] = []
  const enter = (): Promise<void> => {
    if (free > 0) {
      free -= 1
      return Promise.resolve()
    }
    return new Promise((resolve) => waiting.push(resolve))
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next()
    else free += 1
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
