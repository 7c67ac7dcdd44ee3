import { lanes } from './engine.ts'
import type { Question } from './questions.ts'

export const median = (figures: readonly number[]): number => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!

/** Of this thread, in milliseconds: what else runs on the machine does not count. */
const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Decisions for each second of the processor. Always the same list from its beginning; the first tenth of the time does not count. */
export const rateOf = (ask: (question: Question) => boolean, questions: readonly Question[], seconds: number): number => {
  const run = (ms: number): number => {
    const began = processorTime()
    let asked = 0
    let elapsed = 0
    let allowed = 0
    while (elapsed < ms) {
      // The clock is looked at now and then: what is measured is far quicker than it.
      for (let few = 0; few < 64; few += 1) if (ask(questions[asked++ % questions.length]!)) allowed += 1
      elapsed = processorTime() - began
    }
    if (allowed === 0) throw new Error('nothing was allowed')
    return (asked / elapsed) * 1000
  }
  run(seconds * 100)
  return run(seconds * 1000)
}

export const rateInFlight = async (
  ask: (question: Question, lane: number) => Promise<boolean>,
  questions: readonly Question[],
  seconds: number,
): Promise<number> => {
  let next = 0
  const run = async (ms: number): Promise<number> => {
    const began = performance.now()
    let asked = 0
    const lane = async (_: unknown, number: number) => {
      while (performance.now() - began < ms) {
        await ask(questions[next++ % questions.length]!, number)
        asked += 1
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return (asked / (performance.now() - began)) * 1000
  }
  await run(seconds * 100)
  return run(seconds * 1000)
}

/** The median of the rounds, in which the contestants take turns: what disturbs the machine disturbs them all. */
export const inTurns = async <Name extends string>(
  contestants: readonly { name: Name; measure: () => Promise<number> | number }[],
  rounds = 3,
) => {
  const figures = new Map<Name, number[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) for (const { name, measure } of contestants) figures.get(name)!.push(await measure())
  return new Map([...figures].map(([name, measured]) => [name, median(measured)]))
}

/** What one part of the bench found: figures, and what was promised of them. */
export interface Findings {
  readonly figures: string
  /** The same in one line, for the record. */
  readonly summary: string
  readonly promises: readonly { readonly what: string; readonly is_kept: boolean }[]
}

/** A table that can stand in a document as it is. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export const perSecond = (rate: number): string =>
  rate >= 100_000 ? `${(rate / 1e6).toFixed(2)}M` : rate >= 10_000 ? `${(rate / 1000).toFixed(1)}k` : rate.toFixed(0)
