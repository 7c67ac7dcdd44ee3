/** Chance that can be had again: the same seed gives the same worlds on every machine. */
export interface Chance {
  /** From 0 up to, and without, the bound. */
  below(bound: number): number
  /** True so often, of one. */
  is(share: number): boolean
  one<T>(of: readonly T[]): T
  /** A few of them, each at most once, in their order. */
  some<T>(of: readonly T[], share: number): T[]
  /** One of the names, by weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K
}

/** A counter stirred by multiplications and shifts (the finaliser of MurmurHash3): quick, and even enough to choose with. */
export const chanceOf = (seed: number): Chance => {
  let counter = Math.imul(seed ^ 0x5bd1e995, 0x9e3779b1) >>> 0
  const next = (): number => {
    counter = (counter + 0x9e3779b9) >>> 0
    let mixed = counter
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 0x1_0000_0000
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    below,
    is: (share) => next() < share,
    one: (of) => of[below(of.length)]!,
    some: (of, share) => of.filter(() => next() < share),
    weighted: (weights) => {
      const entries = Object.entries(weights) as [keyof typeof weights, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      return entries.find(([, weight]) => {
        left -= weight
        return left < 0
      })![0]
    },
  }
}
