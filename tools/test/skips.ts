import { isPart } from './parts.ts'

/**
 * The list says what may be skipped, one line each: `part:NAME` allows what a missing part takes along (the part's own line
 * and every test whose title ends in `(needs NAME)`); any other line is the exact full name of one test.
 */
export const judgeSkips = (allowed: readonly string[], missing: readonly string[], skipped: readonly string[]): string[] => {
  const exact = allowed.filter((line) => !line.startsWith('part:'))
  const named = allowed.filter((line) => line.startsWith('part:')).map((line) => line.slice('part:'.length))
  const excused = (name: string) => {
    const needed = /\(needs ([\w-]+)\)$/.exec(name)?.[1]
    return needed !== undefined && missing.includes(needed) && named.includes(needed)
  }
  return [
    ...named.filter((name) => !isPart(name)).map((name) => `part:${name} is on the list of allowed skips, but there is no such part`),
    ...missing.filter((name) => !named.includes(name)).map((name) => `${name} is missing and part:${name} is not an allowed skip`),
    ...skipped.filter((name) => !exact.includes(name) && !excused(name)).map((name) => `skipped, but not an allowed skip: ${name}`),
    // Where a part is missing a listed test may have been skipped out of sight, so only a whole machine can call a line stale.
    ...(missing.length > 0
      ? []
      : exact.filter((line) => !skipped.includes(line)).map((line) => `no longer skipped, take it off the list: ${line}`)),
  ]
}
