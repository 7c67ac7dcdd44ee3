/** The same figures for the same seed, so that a schedule can be played again (as far as the machine lets it). */
export const chanceFrom = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    is: (share: number) => next() < share,
    one: <T>(of: readonly T[]): T => of[below(of.length)]!,
    some: <T>(of: readonly T[]): T[] => of.filter(() => next() < 0.5),
    shuffled: <T>(of: readonly T[]): T[] =>
      of
        .map((each) => [next(), each] as const)
        .sort((a, b) => a[0] - b[0])
        .map(([, each]) => each),
  }
}
export type Chance = ReturnType<typeof chanceFrom>
