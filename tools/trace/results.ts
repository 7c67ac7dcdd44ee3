import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { commands, type Runs, type TestResult } from './proofs.ts'

const folder = 'node_modules/.cache/gatehouse'

/** What each command proved last, and what a run of some files said. */
export const resultsPath = (run: (typeof commands)[number] | 'filtered'): string => `${folder}/results-${run.replace(':', '-')}.json`

type Report = {
  testResults: {
    name: string
    status: string
    message: string
    assertionResults: { ancestorTitles: string[]; title: string; status: string }[]
  }[]
}

const outcomeOf = (status: string): TestResult['outcome'] => (status === 'passed' || status === 'failed' ? status : 'skipped')

/** Every test of the newest run. A file that broke before its tests could run counts as one failed test. */
export const readResults = async (path: string): Promise<TestResult[]> => {
  const report: Report = JSON.parse(await readFile(path, 'utf8'))
  return report.testResults.flatMap(({ name: absolute, status, message, assertionResults }) => {
    const file = relative(process.cwd(), absolute).split(sep).join('/')
    const tests = assertionResults.map(
      (test): TestResult => ({ file, name: [...test.ancestorTitles, test.title].join(' ').trim(), outcome: outcomeOf(test.status) }),
    )
    const broke = status === 'failed' && !tests.some(({ outcome }) => outcome === 'failed')
    return broke ? [...tests, { file, name: `the file itself: ${message.split('\n')[0]}`, outcome: 'failed' as const }] : tests
  })
}

/** The newest results of each tier that has been run. */
export const readRuns = async (): Promise<Runs> => {
  const ran = commands.filter((command) => existsSync(resultsPath(command)))
  return Object.fromEntries(await Promise.all(ran.map(async (command) => [command, await readResults(resultsPath(command))])))
}
