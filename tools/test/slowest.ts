import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'

interface Timed {
  testResults: { name: string; startTime: number; endTime: number; assertionResults: { title: string; duration?: number | null }[] }[]
}

/** The files that took longest, longest first, with the test in each that took most of it. */
export const slowestOf = async (path: string, most = 10): Promise<string[]> => {
  const { testResults }: Timed = JSON.parse(await readFile(path, 'utf8'))
  return testResults
    .map(({ name, startTime, endTime, assertionResults }) => ({
      file: relative(process.cwd(), name),
      seconds: (endTime - startTime) / 1000,
      longest: assertionResults.toSorted((one, other) => (other.duration ?? 0) - (one.duration ?? 0))[0],
    }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, most)
    .map(
      ({ file, seconds, longest }) =>
        `${seconds.toFixed(1).padStart(7)} s  ${file}${longest ? ` (${((longest.duration ?? 0) / 1000).toFixed(1)} s: ${longest.title.slice(0, 80)})` : ''}`,
    )
}
