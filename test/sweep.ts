import { createHash } from 'node:crypto'
import { test } from 'vitest'
import { seedIn, tierIn } from '../tools/test/tier.ts'

/** Whether this run takes all cases of every sweep: `npm run test:all`. */
export const isWhole = tierIn(process.env) === 'test:all'

const seed = seedIn(process.env)

/** A number below 2^32 that is the same for one seed and one name, and unrelated for others. */
export const seededNumber = (name: string): number => createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE()

const rank = (name: string, index: number): number => seededNumber(`${name} ${index}`)

/**
 * The cases of an exhaustive sweep that this run looks at: all of them in `npm run test:all`, `most` of them in `npm test`, others with every seed.
 * The order stays, and the name keeps two sweeps from always choosing alike.
 */
export const sweep = <Case>(name: string, cases: readonly Case[], most: number): Case[] => {
  if (isWhole || cases.length <= most) return [...cases]
  const chosen = cases
    .map((_, index) => index)
    .toSorted((one, other) => rank(name, one) - rank(name, other))
    .slice(0, most)
  return chosen.sort((one, other) => one - other).map((index) => cases[index]!)
}

/** How much of something is tried: a little in `npm test`, the whole in `npm run test:all`. */
export const amount = (little: number, whole: number): number => (isWhole ? whole : little)

/**
 * Declares one of many like stories (bad starts, ways to die): all of them run in `npm run test:all`, a share of them in `npm test`, others with
 * every seed. What everybody relies on is an ordinary test.
 */
export const oneOfMany = (share: number) => (title: string, story: () => Promise<void>) => {
  if (isWhole || seededNumber(title) < share * 2 ** 32) test(title, story)
}
