/** Counting semaphore: `most` acts at a time; the others wait in the order in which they came. */
export const semaphore = (most: number) => {
  const waiting: (() => void)[] = []
  let under_way = 0
  return async <T>(act: () => Promise<T>): Promise<T> => {
    if (under_way < most) under_way += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else under_way -= 1
    }
  }
}
