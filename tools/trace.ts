import { existsSync } from 'node:fs'
import { compare, summaryOf } from './trace/compare.ts'
import { readOpen, readRequirements } from './trace/requirements.ts'
import { readResults, resultsPath } from './trace/results.ts'

if (!existsSync(resultsPath)) {
  console.error('There are no test results yet: run `npm test` first.')
  process.exit(1)
}

const trace = compare(await readRequirements(), await readOpen(), await readResults(resultsPath))

if (process.argv.includes('--open')) {
  console.log('# Requirements that no passing test proves yet. `npm run trace -- --open` prints the shorter list; it never grows.')
  for (const id of trace.stillOpen) console.log(id)
  process.exit(0)
}

for (const { id, title, tests, open } of trace.rows) {
  console.log(`${id} ${title}${open ? ' (open)' : ''}`)
  for (const test of tests) console.log(`        ${test}`)
}
console.log(`\n${summaryOf(trace)}`)
for (const fault of trace.faults) console.error(`✗ ${fault}`)
process.exit(trace.faults.length > 0 ? 1 : 0)
