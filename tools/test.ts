import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { accountPath, accountTable, accountVariable, readAccounts } from './test/account.ts'
import { checks } from './test/checks.ts'
import { neededProjects } from './test/needed-projects.ts'
import { hasPart, isPart, partNames, parts } from './test/parts.ts'
import { runAloud } from './test/run.ts'
import { runChecks } from './test/run-checks.ts'
import { judgeSkips } from './test/skips.ts'
import { seedIn, seedVariable, type Tier, tierVariable } from './test/tier.ts'
import { compare, summaryOf } from './trace/compare.ts'
import { readElsewhere } from './trace/elsewhere.ts'
import type { TestResult } from './trace/proofs.ts'
import { readOpen, readRequirements } from './trace/requirements.ts'
import { readResults, readRuns, resultsPath } from './trace/results.ts'

/** `npm test` runs the first tier, `npm run test:all` both, `npm run test:rest` what the first leaves out. */
const flags = ['--all', '--rest'] as const
const words = process.argv.slice(2).filter((argument) => argument !== '--')
const flag = flags.find((each) => words.includes(each))
const filter = words.filter((word) => word !== flag)
const filtered = filter.length > 0
const tiers: readonly Tier[] = flag === '--rest' ? ['test:all'] : flag === '--all' ? ['test', 'test:all'] : ['test']
const seed = seedIn(process.env)

const count = { passed: 0, failed: 0, skipped: 0 }
const failures: string[] = []

const heading = (text: string) => console.log(`\n── ${text}`)
const pass = (text: string) => {
  count.passed += 1
  console.log(`✓ ${text}`)
}
const fail = (text: string) => {
  count.failed += 1
  failures.push(text)
  console.log(`✗ ${text}`)
}
const judge = (name: string, faults: readonly string[], summary = '') => {
  for (const fault of faults) console.log(`  ${fault}`)
  if (faults.length === 0) pass(`${name}${summary && `: ${summary}`}`)
  else fail(`${name}: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`)
}

const missing = partNames.filter((part) => !hasPart(part))
const required = (process.env.GATEHOUSE_REQUIRE ?? '').split(',').filter((name) => name !== '')

const checkParts = () => {
  heading('parts of this machine')
  for (const part of partNames) console.log(`  ${part}: ${missing.includes(part) ? 'missing' : 'present'}`)
  for (const name of required) {
    if (!isPart(name)) fail(`required part ${name}: there is no such part`)
    else if (missing.includes(name)) fail(`required part ${name} is missing: ${parts[name].path}`)
    else pass(`required part ${name}`)
  }
}

const runStaticChecks = async () => {
  heading('static checks')
  await runChecks(checks, ({ name, ok, output, seconds }) => {
    if (!ok) console.log(output)
    const text = `${name} (${seconds.toFixed(1)} s)`
    if (ok) pass(text)
    else fail(text)
  })
}

const runTests = async (tier: Tier): Promise<TestResult[]> => {
  heading(`tests of \`npm run ${tier}\`, seed ${seed} (${seedVariable}=${seed} repeats it)`)
  // A run of some files is no evidence about the whole, so it must not pass for the newest results.
  const path = resultsPath(filtered ? 'filtered' : tier)
  await rm(path, { force: true })
  const reporters = ['--reporter=tools/test/progress.ts', '--reporter=json', `--outputFile.json=${path}`]
  const account = accountPath(filtered ? 'filtered' : tier)
  await rm(account, { force: true })
  const env = { [tierVariable]: tier, [seedVariable]: seed, [accountVariable]: resolve(account) }
  const projects = (neededProjects(filter) ?? []).map((project) => `--project=${project}`)
  const { ok, seconds } = await runAloud(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...projects, ...filter], env)
  const results = existsSync(path) ? await readResults(path) : []
  for (const { outcome, file, name } of results) {
    count[outcome] += 1
    if (outcome === 'failed') failures.push(`${file}: ${name}`)
  }
  if (results.length > 0 && !filtered) {
    heading('where the time went, in seconds: all files together, and the slowest ten')
    for (const line of accountTable(readAccounts(account))) console.log(line)
  }
  console.log(`tests took ${seconds.toFixed(1)} s`)
  if (results.length === 0) fail('no test ran')
  // An unhandled error or a broken set-up fails the run without failing a test.
  else if (!ok && !results.some(({ outcome }) => outcome === 'failed')) fail('vitest itself failed, see above')
  return results
}

const reportSkips = async (results: readonly TestResult[]) => {
  heading('skipped')
  const skipped = results.filter(({ outcome }) => outcome === 'skipped')
  for (const part of missing) console.log(`  part:${part} ${parts[part].serves}`)
  for (const { file, name } of skipped) console.log(`  ${file}: ${name}`)
  count.skipped += missing.length
  const allowed = (await readFile('test/allowed-skips.txt', 'utf8')).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const faults = judgeSkips(
    allowed,
    missing,
    skipped.map(({ name }) => name),
  )
  judge('skips', faults, `${missing.length + skipped.length}, all allowed`)
}

/** The first tier is judged by what it proved itself, whatever the larger one said last time. */
const traceRequirements = async () => {
  heading('requirements')
  const { test, ...rest } = await readRuns()
  const runs = { ...(test ? { test } : {}), ...(tiers.includes('test:all') ? rest : {}) }
  const known = { requirements: await readRequirements(), open: await readOpen(), elsewhere: await readElsewhere(), missing }
  const trace = compare(runs, known)
  judge('trace', trace.faults, summaryOf(trace))
}

const started = performance.now()
checkParts()
if (filtered) {
  console.log(`Only the tests that match: ${filter.join(' ')}. No other check, no trace.`)
  for (const tier of tiers) await runTests(tier)
} else {
  if (tiers.includes('test')) await runStaticChecks()
  const results: TestResult[] = []
  for (const tier of tiers) results.push(...(await runTests(tier)))
  await reportSkips(results)
  await traceRequirements()
}

heading(`${((performance.now() - started) / 1000).toFixed(0)} s in all`)
for (const failure of failures) console.log(`✗ ${failure}`)
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
process.exitCode = count.failed > 0 ? 1 : 0
