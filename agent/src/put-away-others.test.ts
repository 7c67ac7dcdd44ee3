import { beforeEach, expect, test } from 'vitest'
import { memoryState } from '../../test/agent/memory-state.ts'
import { openAllocationBook } from './allocation-book.ts'
import { type Hands, HandsFailed, type Managed } from './hands.ts'
import type { IdentityFile } from './identity.ts'
import { openPuttingAway } from './put-away-others.ts'

const at = '2026-03-01T00:00:00.000Z'
const [known, gone, strange] = ['aa', 'bb', 'cc'].map((end) => ({
  allocation_id: `00000000-0000-7000-8000-0000000000${end}`,
  username: `gh-${end.repeat(3)}`,
})) as [Managed, Managed, Managed]

let lines: string[]
beforeEach(() => {
  lines = []
})

const puttingAway = async (putAway: Hands['putAway']) => {
  const state = memoryState({} as IdentityFile)
  const book = await openAllocationBook(state, new Date(at))
  const applied = (type: 'provision_user' | 'deprovision_user') =>
    ({ type: `allocation.${type}`, generation: 1, params: {}, task_id: 't', at }) as const
  await book.keep({ ...known, begun: 1, applied: applied('provision_user'), drift_found_at: null })
  await book.keep({ ...gone, begun: 1, applied: applied('deprovision_user'), drift_found_at: null })
  return openPuttingAway({ hands: { putAway } as Hands, book, log: (_, event) => lines.push(event), node_id: 'n' })
}

test('SG-23 S11 what the book does not know goes, also another’s account of a known name, and what it knows stays', async () => {
  const found = [
    known,
    gone,
    strange,
    { ...known, allocation_id: strange.allocation_id },
    { ...strange, allocation_id: known.allocation_id },
  ]
  const kept: Managed[] = []
  const putting = await puttingAway(async (_, isKept) => {
    kept.push(...found.filter(isKept))
    return [strange]
  })
  expect(await putting.isDone()).toBe(true)
  expect(kept).toEqual([known])
  expect([lines, putting.failure()]).toEqual([['account_put_away'], null])
})

test('SG-23 what could not be put away is tried again, and said once', async () => {
  let rounds = 0
  const putting = await puttingAway(async () => {
    rounds += 1
    if (rounds < 3) throw new HandsFailed('processes_not_ended')
    return []
  })
  expect([await putting.isDone(), await putting.isDone(), putting.failure()]).toEqual([false, false, 'processes_not_ended'])
  expect(lines).toEqual(['accounts_left'])
  expect([await putting.isDone(), await putting.isDone(), putting.failure(), rounds]).toEqual([true, true, null, 3])
})
