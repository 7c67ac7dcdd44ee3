import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { usualLayout } from './layout.ts'
import { forgetPrevention, preventPlans } from './plans.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-plans-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test.skipIf(process.getuid?.() !== 0)('SG-24 cron and at refuse an account for as long as there is one; other lines stay', async () => {
  const [cron, at] = ['cron.deny', 'at.deny'].map((name) => join(folder, name)) as [string, string]
  const layout = { ...usualLayout, deny_files: [cron, at] }
  // A number that no account has: of a systemd of its own this machine may have a folder of units.
  const who = { username: 'gh-abcdef', uid: 2_147_000_001 }
  writeFileSync(at, 'games\nnobody\n', { mode: 0o640 })
  await Promise.all([preventPlans(layout, who), preventPlans(layout, who)])
  expect([readFileSync(cron, 'utf8'), readFileSync(at, 'utf8')]).toEqual(['gh-abcdef\n', 'games\nnobody\ngh-abcdef\n'])
  expect(statSync(at).mode & 0o777).toBe(0o640)
  await forgetPrevention(layout, who)
  expect([readFileSync(cron, 'utf8'), readFileSync(at, 'utf8')]).toEqual(['', 'games\nnobody\n'])
  expect(existsSync(`/etc/systemd/system/user@${who.uid}.service`)).toBe(false)
})
