import { codeHash } from '../evidence/code-hash.ts'
import { type Figure, type FigureName, figures } from '../evidence/figures.ts'
import { type Promised, readPromises } from '../evidence/promises.ts'
import { type Recorded, readRecords, type Verdict } from '../evidence/records.ts'
import { sweepingFiles } from '../test/sweeping-files.ts'
import { type Document, tableOf } from './document.ts'

const verdicts: Record<Verdict, string> = { kept: 'kept', broken: '**broken**', short: '**short of the goal**' }

/** A word for the table: what the last run said, and whether it speaks of the code as it is. */
export const stateOf = (recorded: Recorded | undefined, code: string): string =>
  recorded ? `${verdicts[recorded.verdict]}${recorded.code === code ? '' : ', older than the code'}` : '**never recorded**'

/** The words for `npm test --`: the path of each file, up to its suffix. */
const words = (tests: readonly string[]) => tests.map((path) => path.replace(/(?:\.db|\.e2e|\.prop)?\.test\.ts$/, '')).join(' ')

/** When the tests run: a sweep tries a share of its cases in `npm test`, and a file called `*.all.*` is left to `npm run test:all`. */
const tierOf = (tests: readonly string[]): string =>
  tests.every((path) => path.includes('.all.'))
    ? 'every `test:all`'
    : sweepingFiles(tests).length > 0
      ? 'every run, a share; every `test:all`, whole'
      : 'every run'

const promiseRow = ({ sentence, tests, figures: named }: Promised, state: (name: string) => string): string[] => [
  sentence,
  `\`npm test -- ${words(tests)}\``,
  [tierOf(tests), ...named.map((name) => `[${name}](#${name}): ${state(name)}`)].join('; '),
]

const section = (
  name: string,
  { claim, goal, asked_by, command, paths }: Figure,
  recorded: Recorded | undefined,
  code: string,
): string[] => [
  `### ${name}`,
  '',
  claim,
  '',
  `- Goal: ${goal} (${asked_by}).`,
  `- Command: \`${command}\``,
  ...(recorded
    ? [
        `- Last figure: ${recorded.figure}.`,
        `- Run on ${recorded.date} at commit ${recorded.commit}; machine: ${recorded.machine}.`,
        ...(recorded.note ? [`- ${recorded.note}`] : []),
      ]
    : []),
  `- State: ${stateOf(recorded, code)}. It speaks of ${paths.map((path) => `\`${path}\``).join(', ')}.`,
  '',
]

const make = async (): Promise<string> => {
  const records = readRecords()
  const all = (Object.entries(figures) as [FigureName, Figure][]).map(([name, figure]) => {
    const [recorded, code] = [records[name], codeHash(figure.paths)]
    return { name, figure, recorded, code, state: stateOf(recorded, code) }
  })
  const state = (name: string) => all.find((each) => each.name === name)?.state ?? 'unknown'
  return [
    '# Evidence',
    '',
    'Every promise of [SECURITY.md](../SECURITY.md) and every goal figure, with the command that proves it and its last result.',
    '`npm run generate` writes this page from SECURITY.md, `tools/evidence/figures.ts` and `docs/evidence/records.json`.',
    'A command with `--record` writes the record, and nobody types a figure. Methods: [campaigns](campaigns.md), [benchmarks](benchmarks.md).',
    '',
    '"Older than the code" means that the content of the paths under the figure has changed since the run.',
    '"Short of the goal" means that the run found no violation but was smaller than the goal asks.',
    '',
    '## Figures',
    '',
    tableOf(
      ['figure', 'goal', 'asked by', 'last run', 'state'],
      all.map(({ name, figure, recorded, state: word }) => [
        `[${name}](#${name})`,
        figure.goal,
        figure.asked_by,
        recorded ? `${recorded.date} at ${recorded.commit}` : '',
        word,
      ]),
    ),
    '',
    '## Promises',
    '',
    '"Every run" means that the tests of the command are part of each `npm test`, which is green at each commit.',
    '"A share" means that `npm test` tries some cases, others at each commit, and `npm run test:all` tries all of them.',
    '',
    tableOf(
      ['promise', 'command', 'last result'],
      readPromises().map((promised) => promiseRow(promised, state)),
    ),
    '',
    '## Each figure',
    '',
    ...all.flatMap(({ name, figure, recorded, code }) => section(name, figure, recorded, code)),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

export const evidenceDocument: Document = { path: 'docs/evidence.md', make }
