import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askRunning, hangDoorbell } from './doorbell.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'doorbell-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('SG-10 of two agents that start on one state at the same moment one runs, and the other is told why not', async () => {
  const both = await Promise.allSettled([hangDoorbell(folder, () => 'one'), hangDoorbell(folder, () => 'other')])
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { message: 'an agent runs on this state already' } })
  expect(['one', 'other']).toContain(await askRunning(folder))
  for (const each of both) if (each.status === 'fulfilled') await each.value()
})

test('SG-10 who removes the socket does not make room for a second one; when the first is gone there is', async () => {
  const takeDown = await hangDoorbell(folder, () => 'first')
  rmSync(join(folder, 'agent.sock'))
  await expect(hangDoorbell(folder, () => 'second')).rejects.toThrow('already')
  await takeDown()
  const takeDownAgain = await hangDoorbell(folder, () => 'third')
  expect(await askRunning(folder)).toBe('third')
  await takeDownAgain()
  expect(await askRunning(folder)).toBeUndefined()
})
