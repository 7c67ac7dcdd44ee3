import type { Chance } from './access/chance.ts'
import type { Scene } from './revokes.ts'
import { playTogether } from './rounds.ts'

/** Of one try. */
export const mostRounds = 200

/** How many rounds, played as the sound build's are, a build with a mistake lasts until it is found, for each of several tries; never: not a number. */
export const roundsToFind = async (
  scenes: readonly Scene[],
  all: readonly string[],
  samples: number,
  chance?: Chance,
): Promise<number[]> => {
  const needed: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    // Each try begins with another kind of revoke.
    const turned = scenes.map((scene) => ({
      ...scene,
      revokes: [...scene.revokes.slice(sample * 3), ...scene.revokes.slice(0, sample * 3)],
    }))
    const played = await playTogether(turned, all, mostRounds, { isEnough: ({ allows }) => allows > 0, ...(chance ? { chance } : {}) })
    const found = played.findIndex(({ allows }) => allows > 0)
    needed.push(found < 0 ? Number.NaN : found + 1)
  }
  return needed
}

/** So many rounds must a build last that is to count as sound. */
export const sensitivityOf = (needed: readonly number[]) => {
  const mean = needed.reduce((sum, each) => sum + each, 0) / needed.length
  const deviation = Math.sqrt(needed.reduce((sum, each) => sum + (each - mean) ** 2, 0) / needed.length)
  return { needed, mean, deviation, enough: Math.ceil(Math.max(mean + 3 * deviation, 10 * mean)) }
}
