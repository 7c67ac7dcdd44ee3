import { appendFileSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'
import { accountVariable } from '../tools/test/account.ts'
import { childrenCpuMs, cpuMs, takeSpent } from './spent.ts'

// For every test file: what it took, and of what kind. Read by the summary at the end of a run.
const path = process.env[accountVariable]
if (path) {
  let began = { wall: 0, cpu: 0, children: 0 }
  beforeAll(() => {
    takeSpent()
    began = { wall: performance.now(), cpu: cpuMs(), children: childrenCpuMs() }
  })
  afterAll(() => {
    const file = expect.getState().testPath
    const [wall_ms, cpu_ms] = [performance.now() - began.wall, cpuMs() - began.cpu]
    const line = { file, wall_ms, cpu_ms, children_cpu_ms: childrenCpuMs() - began.children, spent: takeSpent() }
    appendFileSync(path, `${JSON.stringify(line)}\n`)
  })
}
