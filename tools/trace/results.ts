import { readFile } from 'node:fs/promises'
import { relative, sep } from 'node:path'

export const resultsPath = 'node_modules/.cache/gatehouse/results.json'

export type TestResult = { file: string; name: string; outcome: 'passed' | 'failed' | 'skipped' }

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
