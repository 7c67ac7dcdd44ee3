import { expect, test } from 'vitest'
import { sourceFolders } from '../../tools/test/source-folders.ts'
import { filesUnder, textOf } from './tree.ts'

/** What makes a verdict depend on the load of the machine, or on chance that nobody can repeat. */
const unsteady: Readonly<Record<string, RegExp>> = {
  'a stopwatch with a bound below a minute':
    /expect\((?:performance|Date)\.now\(\) - [\w.]+\)\s*\.toBeLessThan(?:OrEqual)?\((?:\d{1,3}|[1-5]?\d_?\d{3})\)/,
  'chance without a seed': /Math\.random\(\)/,
  'a poll that gives up within seconds': /(?:poll|waitFor)\([^\n]*timeout: (?:\d{1,3}|[12]?\d_?\d{3})\b/,
}
const faultsIn = (text: string) => Object.keys(unsteady).filter((fault) => unsteady[fault]!.test(text))

test('tests: no verdict is measured with a stopwatch, drawn without a seed or polled for in haste', () => {
  const tests = sourceFolders.flatMap(filesUnder).filter((path) => path.endsWith('.test.ts'))
  const faults = tests
    .filter((path) => path !== 'test/house/steady.test.ts')
    .flatMap((path) => faultsIn(textOf(path)).map((fault) => `${path}: ${fault}`))
  expect(faults).toEqual([])
})

test.for([
  'expect(performance.now() - began).toBeLessThan(2000)',
  'expect(Date.now() - began.at).toBeLessThanOrEqual(500)',
  'await pause(Math.random() * 25)',
  'await expect.poll(() => told, { timeout: 4000 }).toBe(1)',
  'vi.waitFor(check, { timeout: 10_000, interval: 50 })',
])('tests: %s → found', (text) => {
  expect(faultsIn(text)).toHaveLength(1)
})

test.for(['expect(performance.now() - began).toBeLessThan(60_000)', 'vi.waitFor(check, { timeout: 60_000, interval: 50 })'])(
  'tests: %s → a bound for what hangs',
  (text) => {
    expect(faultsIn(text)).toEqual([])
  },
)
