import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clear } from './clear.ts'
import { HandsFailed } from './hands.ts'
import { openState } from './state.ts'

let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-clear-'))
  const state = await openState(folder)
  await state.keepIdentity('current', {} as never)
  writeFileSync(join(folder, 'of-somebody'), '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('SG-23 a machine that is a node no more keeps neither accounts nor state, and what is not ours stays', async () => {
  const account = { allocation_id: '00000000-0000-7000-8000-0000000000aa', username: 'gh-aaaaaa' }
  const away = await clear(folder, { putAway: async (node_id, isKept) => (node_id === null && !isKept(account) ? [account] : []) })
  expect(away).toEqual([account])
  expect(readdirSync(folder)).toEqual(['of-somebody'])
})

test('SG-23 while an account is left the state is, too', async () => {
  const failing = { putAway: () => Promise.reject(new HandsFailed('processes_not_ended')) }
  await expect(clear(folder, failing)).rejects.toThrow('processes_not_ended')
  expect(existsSync(join(folder, 'identity.json'))).toBe(true)
})
