/** Numbers that are the same for the same seed. */
export const chance = (seed: number) => {
  let state = (seed * 0x9e3779b9) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
  const upTo = (limit: number): number => Math.floor(next() * limit)
  return {
    upTo,
    is: (share: number): boolean => next() < share,
    among: <T>(values: readonly T[]): T => values[upTo(values.length)]!,
    /** Some of these, at least one, in an order of their own. */
    some: <T>(values: readonly T[], most: number): T[] =>
      values
        .map((value) => ({ value, order: next() }))
        .sort((a, b) => a.order - b.order)
        .slice(0, 1 + upTo(Math.min(most, values.length)))
        .map(({ value }) => value),
  }
}
export type Chance = ReturnType<typeof chance>
