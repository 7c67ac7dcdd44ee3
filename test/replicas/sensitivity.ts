import type { Scene } from './revokes.ts'
import { playRounds } from './rounds.ts'

const mostRounds = 200

/** How many rounds a build with a mistake lasts until it is found, for each of several tries; never: not a number. */
export const roundsToFind = async (scene: Scene, all: readonly string[], samples: number): Promise<number[]> => {
  const needed: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    // Each try begins with another kind of revoke.
    const turned = { ...scene, revokes: [...scene.revokes.slice(sample * 3), ...scene.revokes.slice(0, sample * 3)] }
    const played = await playRounds(turned, all, mostRounds, ({ allows }) => allows > 0)
    needed.push(played.at(-1)!.allows > 0 ? played.length : Number.NaN)
  }
  return needed
}

/** So many rounds must a build last that is to count as sound. */
export const sensitivityOf = (needed: readonly number[]) => {
  const mean = needed.reduce((sum, each) => sum + each, 0) / needed.length
  const deviation = Math.sqrt(needed.reduce((sum, each) => sum + (each - mean) ** 2, 0) / needed.length)
  return { needed, mean, deviation, enough: Math.ceil(Math.max(mean + 3 * deviation, 10 * mean)) }
}
