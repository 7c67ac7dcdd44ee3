import fc from 'fast-check'

/** So many distinct things are a million pairs: each with each other, n * (n - 1) / 2. */
export const enough = 1415
export const pairsAmong = (n: number): number => (n * (n - 1)) / 2

/** A second opinion on equality, by structure and without spelling anything. What is undefined is not there. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  for (const name in a) if ((a as never)[name] !== undefined && !isSame((a as never)[name], (b as never)[name])) return false
  for (const name in b) if ((b as never)[name] !== undefined && (a as never)[name] === undefined) return false
  return true
}

/** So many that are drawn and mean something else than each of those before; fewer where there are no more. */
export const distinct = <T>(drawn: fc.Arbitrary<T>, meaningOf: (input: T) => unknown, most = enough): T[] => {
  const inputs: T[] = []
  const meanings: unknown[] = []
  for (const input of fc.sample(drawn, { numRuns: most * 6, seed: 19 })) {
    const meaning = meaningOf(input)
    if (meanings.some((other) => isSame(meaning, other))) continue
    meanings.push(meaning)
    if (inputs.push(input) === most) break
  }
  return inputs
}
