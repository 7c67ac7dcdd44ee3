import { appendFileSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'
import { accountVariable } from '../tools/test/account.ts'
import { cpuMs, takeSpent } from './spent.ts'

// For every test file: what it took, and of what kind. Read by the summary at the end of a run.
const path = process.env[accountVariable]
if (path) {
  let began = { wall: 0, cpu: 0 }
  beforeAll(() => {
    takeSpent()
    began = { wall: performance.now(), cpu: cpuMs() }
  })
  afterAll(() => {
    const file = expect.getState().testPath
    const line = { file, wall_ms: performance.now() - began.wall, cpu_ms: cpuMs() - began.cpu, spent: takeSpent() }
    appendFileSync(path, `${JSON.stringify(line)}\n`)
  })
}
