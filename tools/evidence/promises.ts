import { existsSync, readFileSync } from 'node:fs'
import { isFigure } from './figures.ts'

/** A row of the table of promises in SECURITY.md. */
export interface Promised {
  readonly sentence: string
  /** The test files that prove it at every `npm test`. */
  readonly tests: readonly string[]
  readonly requirements: readonly string[]
  /** Names in the table of figures. */
  readonly figures: readonly string[]
}

const heading = '## What we promise'

/** The rows of the table under the heading of promises. */
export const promisesIn = (text: string): Promised[] => {
  const [, section = ''] = text.split(heading)
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => /^\| (?!promise \|)[^-]/.test(line))
  return rows.map((row) => {
    const [sentence = '', proof = ''] = row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim())
    return {
      sentence,
      tests: [...proof.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, path]) => path!),
      requirements: [...proof.matchAll(/\b[A-Z]{2}-\d\d\b/g)].map(([id]) => id),
      figures: [...proof.matchAll(/evidence\.md#([\w-]+)/g)].map(([, name]) => name!),
    }
  })
}

export const readPromises = (): Promised[] => promisesIn(readFileSync('SECURITY.md', 'utf8'))

/** What is wrong with the proof of a promise: nothing proves it, or what is named does not. */
export const faultsOf = ({ sentence, tests, requirements, figures }: Promised): string[] => {
  const texts = tests.filter((path) => existsSync(path)).map((path) => readFileSync(path, 'utf8'))
  return [
    ...(tests.length === 0 ? ['no test proves it'] : []),
    ...tests.filter((path) => !existsSync(path)).map((path) => `${path} does not exist`),
    ...requirements.filter((id) => !texts.some((text) => text.includes(id))).map((id) => `none of its tests names ${id}`),
    ...figures.filter((name) => !isFigure(name)).map((name) => `there is no figure ${name}`),
  ].map((fault) => `${sentence}: ${fault}`)
}
