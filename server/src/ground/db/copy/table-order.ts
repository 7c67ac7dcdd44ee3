/** A foreign key; one that can be deferred is checked at the end of the transaction. */
export interface TableReference {
  readonly child: string
  readonly parent: string
  readonly is_deferrable: boolean
}

/**
 * The order in which tables can be filled: what is referred to comes first. Tables in a circle of deferrable references follow
 * each other directly, so that whatever stands on one of them finds the whole circle there (triggers look further than keys).
 */
export const tableOrder = (names: readonly string[], references: readonly TableReference[]): string[] => {
  const ancestors = new Map<string, Set<string>>()
  for (const name of names) {
    const found = new Set<string>()
    const climb = (from: string) => {
      for (const { child, parent } of references)
        if (child === from && !found.has(parent)) {
          found.add(parent)
          climb(parent)
        }
    }
    climb(name)
    ancestors.set(name, found)
  }
  const placed: string[] = []
  const waiting = new Set(names)
  const isReady = (name: string) =>
    [...ancestors.get(name)!].every((other) => !waiting.has(other) || ancestors.get(other)!.has(name)) &&
    references.every(({ child, parent, is_deferrable }) => child !== name || is_deferrable || !waiting.has(parent))
  while (waiting.size > 0) {
    const next = [...waiting].find(isReady)
    if (next === undefined) throw new Error(`foreign keys that cannot be deferred form a circle among ${[...waiting].join(', ')}`)
    waiting.delete(next)
    placed.push(next)
  }
  return placed
}
