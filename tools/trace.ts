import { writeFile } from 'node:fs/promises'
import { hasPart, partNames } from './test/parts.ts'
import { compare, summaryOf } from './trace/compare.ts'
import { elsewhereList, elsewherePath, readElsewhere } from './trace/elsewhere.ts'
import { openList, openPath, readOpen, readRequirements } from './trace/requirements.ts'
import { readRuns } from './trace/results.ts'

const runs = await readRuns()
if (!runs.test) {
  console.error('There are no test results yet: run `npm test` first, and `npm run test:all` for the whole.')
  process.exit(1)
}
const missing = partNames.filter((part) => !hasPart(part))
const trace = compare(runs, { requirements: await readRequirements(), open: await readOpen(), elsewhere: await readElsewhere(), missing })

if (process.argv.includes('--open')) {
  process.stdout.write(openList(trace.stillOpen))
  process.exit(0)
}
if (process.argv.includes('--write')) {
  // Written here and not by `>` in a shell, which would empty the list before it is read.
  await writeFile(openPath, openList(trace.stillOpen))
  if (runs['test:all'] && missing.length === 0) await writeFile(elsewherePath, elsewhereList(trace.elsewhere))
  else console.log(`${elsewherePath} is as it was: it takes both tiers on a machine with every part to write it.`)
  process.exit(0)
}

for (const { id, title, tests, open } of trace.rows) {
  console.log(`${id} ${title}${open ? ' (open)' : ''}`)
  for (const test of tests) console.log(`        ${test}`)
}
console.log(`\n${summaryOf(trace)}`)
for (const fault of trace.faults) console.error(`✗ ${fault}`)
process.exit(trace.faults.length > 0 ? 1 : 0)
