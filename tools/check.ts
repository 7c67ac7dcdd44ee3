// `npm run check`: the static checks of `npm test`, without the tests. `npm run check -- lint types` runs some of them.
import { chosenChecks, runChecks } from './test/run-checks.ts'

const words = process.argv.slice(2).filter((argument) => argument !== '--')
const count = { passed: 0, failed: 0 }
const started = performance.now()
try {
  await runChecks(chosenChecks(words), ({ name, ok, output, seconds }) => {
    count[ok ? 'passed' : 'failed'] += 1
    if (!ok) console.log(output)
    console.log(`${ok ? '✓' : '✗'} ${name} (${seconds.toFixed(1)} s)`)
  })
  console.log(`${count.passed} passed, ${count.failed} failed, in ${((performance.now() - started) / 1000).toFixed(1)} s`)
} catch (error) {
  count.failed += 1
  console.error((error as Error).message)
}
process.exitCode = count.failed > 0 ? 1 : 0
