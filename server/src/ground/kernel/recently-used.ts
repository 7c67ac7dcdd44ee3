/** A bounded memory: what was not asked for longest is forgotten first, roughly. */
export interface RecentlyUsed<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
}

/**
 * Two tables of half the size instead of an order that each look would change: what is found in the older one moves to the younger, and
 * when that is full it becomes the older one, whose rest is forgotten. So what was used lately stays, and a look costs what a look costs.
 */
export const recentlyUsed = <Value>(most: number): RecentlyUsed<Value> => {
  const half = Math.ceil(most / 2)
  let young = new Map<string, Value>()
  let old = new Map<string, Value>()
  const set = (key: string, value: Value): void => {
    if (half === 0) return
    if (young.size >= half && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  return {
    get: (key) => {
      const found = young.get(key)
      if (found !== undefined) return found
      const older = old.get(key)
      if (older !== undefined) set(key, older)
      return older
    },
    set,
  }
}
