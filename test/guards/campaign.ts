// `npm run campaign:guards`: for each fault that only a test of `npm run test:all` was made to find, the test of `npm test` that goes red for it
// too. Run it where `npm test` is green. Faults that are known already are left out unless `--restart`; docs/evidence/guards.json keeps what was found.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Guarded, guardsPath } from '../../tools/evidence/guarded.ts'
import { tierVariable } from '../../tools/test/tier.ts'
import type { TestResult } from '../../tools/trace/proofs.ts'
import { readResults } from '../../tools/trace/results.ts'
import { candidatesFor, type Fault, faults } from './faults.ts'

const results = join(tmpdir(), `gatehouse-guards-${process.pid}.json`)
const isRestart = process.argv.includes('--restart')
const known: Guarded[] = existsSync(guardsPath) && !isRestart ? JSON.parse(readFileSync(guardsPath, 'utf8')) : []

/** The first test that fails with this fault in the product. */
const guardOf = async (fault: Fault): Promise<string | undefined> => {
  for (const words of candidatesFor(fault)) {
    rmSync(results, { force: true })
    const args = ['run', '--config', 'test/guards/vitest.config.ts', '--reporter=json', `--outputFile=${results}`, ...words]
    spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
      stdio: 'ignore',
      env: { ...process.env, [tierVariable]: 'test', GATEHOUSE_CHANGES: JSON.stringify(fault.changes) },
    })
    // A file that no longer loads is no test that went red.
    const isRed = ({ outcome, name }: TestResult) => outcome === 'failed' && !name.startsWith('the file itself')
    const failed = existsSync(results) ? (await readResults(results)).find(isRed) : undefined
    if (failed) return `${failed.file}: ${failed.name}`
  }
  return undefined
}

const unguarded: string[] = []
for (const [at, fault] of faults.entries()) {
  if (known.some((each) => each.moved === fault.moved && each.fault === fault.name)) continue
  const guard = await guardOf(fault)
  console.log(`[${at + 1}/${faults.length}] ${guard ? '✓' : '✗'} ${fault.name}: ${guard ?? 'no test of npm test goes red'}`)
  if (!guard) unguarded.push(fault.name)
  else {
    known.push({ moved: fault.moved, fault: fault.name, guard })
    writeFileSync(guardsPath, `${JSON.stringify(known, null, 2)}\n`)
  }
}
rmSync(results, { force: true })
console.log(`${known.length} faults are found by \`npm test\` too, ${unguarded.length} are not`)
process.exitCode = unguarded.length > 0 ? 1 : 0
