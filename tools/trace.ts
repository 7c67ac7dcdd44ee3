import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { compare, summaryOf } from './trace/compare.ts'
import { openList, openPath, readOpen, readRequirements } from './trace/requirements.ts'
import { readResults, resultsPath } from './trace/results.ts'

if (!existsSync(resultsPath)) {
  console.error('There are no test results yet: run `npm test` first.')
  process.exit(1)
}

const trace = compare(await readRequirements(), await readOpen(), await readResults(resultsPath))

if (process.argv.includes('--open') || process.argv.includes('--write')) {
  const list = openList(trace.stillOpen)
  // Not by `>` in a shell: that empties the list before we have read it.
  if (process.argv.includes('--write')) await writeFile(openPath, list)
  else process.stdout.write(list)
  process.exit(0)
}

for (const { id, title, tests, open } of trace.rows) {
  console.log(`${id} ${title}${open ? ' (open)' : ''}`)
  for (const test of tests) console.log(`        ${test}`)
}
console.log(`\n${summaryOf(trace)}`)
for (const fault of trace.faults) console.error(`✗ ${fault}`)
process.exit(trace.faults.length > 0 ? 1 : 0)
