// Small mistakes, put into the two rooms one at a time, and whether a test fails for each: `npm run campaign:mutants [-- decide standing]`.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { recordIfWanted } from '../../tools/evidence/records.ts'
import { type Piece, pieces } from './pieces.ts'
import { survivors } from './survivors.ts'

type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

const leastScore = 90
const named = process.argv.slice(2).filter((word) => word !== '--record')
const recording = recordIfWanted('mutants')
const isWanted = (file: string) => named.length === 0 || named.includes(basename(file, '.ts'))

const run = ({ files, tests, needs_database }: Piece): Promise<Mutant[]> => {
  // Read by the Vitest configuration, in processes that this one starts.
  process.env.MUTATION_TESTS = tests.join(',')
  process.env.MUTATION_DATABASE = needs_database ? 'yes' : 'no'
  const stryker = new Stryker({
    mutate: files.filter(isWanted),
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    concurrency: 2,
    coverageAnalysis: 'perTest',
    timeoutMS: 30_000,
    tempDirName: '.gatehouse/mutation',
    ignorePatterns: ['.gatehouse', 'docs', 'coverage', 'test/bench'],
    disableTypeChecks: false,
    // A file without anything to change is no fault.
    allowEmpty: true,
    reporters: ['json'],
    jsonReporter: { fileName: '.gatehouse/mutants.json' },
    warnings: { preprocessorErrors: true, slow: false, unknownOptions: true, unserializableOptions: true },
    logLevel: 'warn',
  } as ConstructorParameters<typeof Stryker>[0])
  return stryker.runMutationTest()
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** The text that was replaced; lines and columns count from 1. */
const replacedBy = ({ fileName, location: { start, end } }: Mutant): string => {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line)
  lines[lines.length - 1] = lines.at(-1)!.slice(0, end.column - 1)
  lines[0] = lines[0]!.slice(start.column - 1)
  return oneLine(lines.join('\n'))
}

const isFound = ({ status }: Mutant) => status === 'Killed' || status === 'Timeout'
const isMissed = ({ status }: Mutant) => status === 'Survived' || status === 'NoCoverage'
const scoreOf = (mutants: readonly Mutant[]) => {
  const [found, missed] = [mutants.filter(isFound).length, mutants.filter(isMissed).length]
  return found + missed === 0 ? 100 : (100 * found) / (found + missed)
}

const figuresOf = (name: string, mutants: readonly Mutant[]) => ({
  name,
  mutants: mutants.length,
  found: mutants.filter(isFound).length,
  'of these too slow': mutants.filter(({ status }) => status === 'Timeout').length,
  missed: mutants.filter(isMissed).length,
  'could not run': mutants.filter((mutant) => !isFound(mutant) && !isMissed(mutant)).length,
  score: scoreOf(mutants).toFixed(1),
})

const spelled = (mutant: Mutant) => {
  const { fileName, location, replacement } = mutant
  return {
    name: `${basename(fileName)}:${location.start.line}`,
    key: `${basename(fileName, '.ts')}: ${replacedBy(mutant)} => ${oneLine(replacement ?? '')}`,
  }
}

const all: Mutant[] = []
for (const piece of pieces.filter(({ files }) => files.some(isWanted))) {
  const started = performance.now()
  const mutants = await run(piece)
  all.push(...mutants)
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(
    `${piece.files
      .filter(isWanted)
      .map((file) => basename(file))
      .join(', ')}: ${mutants.length} mutants, ${seconds} s`,
  )
}

const byFile = Map.groupBy(all, ({ fileName }) => basename(fileName))
console.table([...byFile].map(([name, mutants]) => figuresOf(name, mutants)).concat(figuresOf('all', all)))

// Where the same words stand twice in a file, each mutant of them is listed by itself: one reason is no reason for another.
const known = survivors.flatMap(({ mutants }) => mutants)
const unexplained = all
  .filter(isMissed)
  .map(spelled)
  .filter(({ key }) => {
    const at = known.indexOf(key)
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
for (const { name, key } of unexplained) console.log(`no test failed, and no reason is listed: ${name} ${key}`)
const isOfThisRun = (key: string) => byFile.has(`${key.slice(0, key.indexOf(':'))}.ts`)
for (const key of known) if (isOfThisRun(key)) console.log(`listed as missed, and found or gone: ${key}`)

const isKept = scoreOf(all) >= leastScore && unexplained.length === 0
if (!isKept) process.exitCode = 1
recording.end({
  verdict: !isKept ? 'broken' : named.length > 0 ? 'short' : 'kept',
  figure: `${scoreOf(all).toFixed(1)} % of ${all.length} mutants found, ${all.filter(isMissed).length} missed, ${unexplained.length} of them without a reason`,
})
