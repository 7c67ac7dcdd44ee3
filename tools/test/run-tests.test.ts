import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { partNames } from './parts.ts'

type Ended = { code: number; lines: string[] }

/** The runner itself, as a process, on a handful of quick tests. */
const runTests = (filter: string, env: Record<string, string> = {}): Promise<Ended> =>
  new Promise((resolve) => {
    // The outer run's variables would make the inner one believe that it is a worker of it.
    const inherited = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|TEST$|NODE_ENV$|GATEHOUSE)/.test(name))
    execFile(process.execPath, ['tools/test.ts', filter], { env: { ...Object.fromEntries(inherited), ...env } }, (error, stdout) =>
      resolve({ code: error ? Number(error.code) : 0, lines: stdout.trimEnd().split('\n') }),
    )
  })

test('HO-02 the last line counts what passed, failed and was skipped', async () => {
  const { code, lines } = await runTests('tools/trace/compare.test.ts')
  expect(lines.at(-1)).toMatch(/^[1-9]\d* passed, 0 failed, 0 skipped$/)
  expect(code).toBe(0)
})

test('HO-02 a run without tests fails', async () => {
  const { code, lines } = await runTests('no-such-test')
  expect(lines.at(-1)).toBe('0 passed, 1 failed, 0 skipped')
  expect(code).toBe(1)
})

test('HO-02 a required part that is not there fails the run by name', async () => {
  const { code, lines } = await runTests('tools/trace/compare.test.ts', { GATEHOUSE_REQUIRE: 'a_moon' })
  expect(lines).toContain('✗ required part a_moon: there is no such part')
  expect(lines.at(-1)).toMatch(/ 1 failed, /)
  expect(code).toBe(1)
})

test('HO-02 every part is named, present or missing', async () => {
  const { lines } = await runTests('tools/trace/compare.test.ts')
  for (const part of partNames) expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^  ${part}: (?:present|missing)$`)))
})
