import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clear } from './clear.ts'
import { type Hands, HandsFailed } from './hands.ts'
import { openState } from './state.ts'

const node_id = '00000000-0000-7000-8000-0000000000bb'
const other_node = '00000000-0000-7000-8000-0000000000cc'
const account = { allocation_id: '00000000-0000-7000-8000-0000000000aa', username: 'gh-aaaaaa' }
let folder: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-clear-'))
  const state = await openState(folder)
  await state.keepIdentity('current', { node_id } as never)
  writeFileSync(join(folder, 'of-somebody'), '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('SG-23 a machine that is a node no more keeps neither accounts nor state, and what is not ours stays', async () => {
  const putAway: Hands['putAway'] = async (told, isKept) => (told === null && !isKept(account) ? [account] : [])
  const away = await clear(folder, { hands: async () => ({ putAway }), machines_node: node_id, named_node: undefined })
  expect(away).toEqual([account])
  expect(readdirSync(folder)).toEqual(['of-somebody'])
})

test('SG-23 while an account is left the state is, too', async () => {
  const hands = async () => ({ putAway: () => Promise.reject(new HandsFailed('processes_not_ended')) })
  await expect(clear(folder, { hands, machines_node: node_id, named_node: undefined })).rejects.toThrow('processes_not_ended')
  expect(existsSync(join(folder, 'identity.json'))).toBe(true)
})

test('SG-26 clear: the accounts are another node’s, or the folder is no node’s state → refused and nothing is touched; named, it goes', async () => {
  let asked = 0
  const hands = async () => {
    asked += 1
    return { putAway: async () => [account] }
  }
  await expect(clear(folder, { hands, machines_node: other_node, named_node: undefined })).rejects.toThrow('nothing was changed')
  // Not even by naming it: this folder is of a node that has its own.
  await expect(clear(folder, { hands, machines_node: other_node, named_node: other_node })).rejects.toThrow('nothing was changed')
  const empty = join(folder, 'empty')
  await expect(clear(empty, { hands, machines_node: node_id, named_node: undefined })).rejects.toThrow('--node')
  expect([asked, existsSync(join(folder, 'identity.json'))]).toEqual([0, true])
  expect(await clear(empty, { hands, machines_node: node_id, named_node: node_id })).toEqual([account])
})
