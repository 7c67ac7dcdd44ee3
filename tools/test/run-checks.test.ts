import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { type Checked, chosenChecks, runChecks } from './run-checks.ts'

const node = (name: string, code: string) => ({ name, args: ['-e', code] })

test('HO-02 static checks: one of three fails → each is reported with its time, the output of the failed one is kept', async () => {
  const reports: Checked[] = []
  const planted = [
    node('good', ''),
    node('bad', 'console.error("line 7 is wrong"); process.exit(2)'),
    node('late', 'setTimeout(() => {}, 300)'),
  ]
  await runChecks(planted, (checked) => reports.push(checked))
  expect(reports.map(({ name, ok }) => [name, ok]).sort()).toEqual([
    ['bad', false],
    ['good', true],
    ['late', true],
  ])
  expect(reports.find(({ name }) => name === 'bad')?.output).toBe('line 7 is wrong')
  expect(reports.find(({ name }) => name === 'late')?.seconds).toBeGreaterThan(0.25)
})

test('HO-02 static checks: two lanes → no more than two run at once', async () => {
  let [running, most] = [0, 0]
  const counted = Array.from({ length: 4 }, (_, index) => ({
    name: `check ${index}`,
    // Read by the runner when it starts the process.
    get args() {
      running += 1
      most = Math.max(most, running)
      return ['-e', '']
    },
  }))
  await runChecks(counted, () => {
    running -= 1
  })
  expect(most).toBe(2)
})

test('HO-02 static checks: a word → the checks whose name contains it; an unknown word is refused', () => {
  expect(chosenChecks(['lint', 'types']).map(({ name }) => name)).toEqual(['types', 'lint'])
  expect(chosenChecks([]).length).toBeGreaterThan(4)
  expect(() => chosenChecks(['lind'])).toThrow('No check is called "lind". The checks are: types, lint,')
})

test('HO-02 npm run check: an unknown word → one sentence, exit code 1', async () => {
  const ended = await new Promise((resolve) =>
    execFile(process.execPath, ['tools/check.ts', 'lind'], (error, stdout, stderr) => resolve({ code: error?.code, stdout, stderr })),
  )
  expect(ended).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^No check is called "lind"\. .*\.\n$/) })
})
