import { type Check, checks } from './checks.ts'
import { type Ran, runQuietly } from './run.ts'

export type Checked = Ran & { name: string }

/** The checks whose name contains one of the words; all of them without a word. Each word must match. */
export const chosenChecks = (words: readonly string[]): readonly Check[] => {
  const unknown = words.find((word) => !checks.some(({ name }) => name.includes(word)))
  if (unknown !== undefined)
    throw new Error(`No check is called "${unknown}". The checks are: ${checks.map(({ name }) => name).join(', ')}.`)
  return words.length === 0 ? checks : checks.filter(({ name }) => words.some((word) => name.includes(word)))
}

/** Runs the checks, two at a time because most use one core only. Reports each check when it ends. */
export const runChecks = async (chosen: readonly Check[], report: (checked: Checked) => void, atOnce = 2): Promise<void> => {
  const queue = [...chosen]
  const lane = async () => {
    for (let check = queue.shift(); check; check = queue.shift()) report({ name: check.name, ...(await runQuietly(check.args)) })
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}
