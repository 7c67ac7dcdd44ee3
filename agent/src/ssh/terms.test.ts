import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { usualLayout } from './layout.ts'
import { applyTerms, termsIn } from './terms.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-terms-'))
})
afterEach(() => rmSync(folder, { recursive: true }))
const bounds = () => readFileSync(join(folder, '.bounds-gh-abcdef'), 'utf8')
const apply = (params: object) => applyTerms({ ...usualLayout, sessions_dir: folder }, null, 'gh-abcdef', termsIn(params))

test('SG-28 the hook is told how many sessions and processes there may be; an older control plane says nothing, and they are as they were', async () => {
  await apply({})
  expect(bounds()).toBe('0 4096\n')
  await apply({ bounds: { sessions_max: 3, tasks_max: 77, memory_max_bytes: null } })
  expect(bounds()).toBe('3 77\n')
})

test('SG-24 what is no device node by its name is never given to systemd', async () => {
  for (const device of ['/etc/passwd', '/dev/../etc/passwd', '/dev/nvidia0 rw', 'char-nvidia'])
    await expect(apply({ devices: [device] })).rejects.toThrow('no_such_device')
})
