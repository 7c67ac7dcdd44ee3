import { beforeEach, describe, expect, test } from 'vitest'
import { memoryState } from '../../test/agent/memory-state.ts'
import { type AllocationBook, openAllocationBook } from './allocation-book.ts'
import { type Hands, HandsFailed } from './hands.ts'
import type { IdentityFile } from './identity.ts'
import { performTask, type VerifiedTask } from './perform-task.ts'
import type { State } from './state.ts'

const allocation_id = '00000000-0000-7000-8000-0000000000bb'
const now = () => new Date('2026-03-01T00:00:00.000Z')
let state: State
let book: AllocationBook
beforeEach(async () => {
  state = memoryState({} as IdentityFile)
  book = await openAllocationBook(state, now())
})

const task = (generation: number, kind: 'provision_user' | 'install_authorized_keys' | 'deprovision_user', more: object = {}) =>
  ({
    task_id: `task-${generation}`,
    type: `allocation.${kind}`,
    generation,
    params: { allocation_id, username: 'gh-abcdef', ...more },
  }) as unknown as VerifiedTask
const willing: Hands = {
  provisionUser: async () => ({}),
  installKeys: async () => ({ set_hash: 'h' }),
  deprovisionUser: async () => ({}),
  probe: async () => ({ facts: { a: 'b' } }),
  drift: async () => false,
  close: async () => {},
}
const perform = (given: VerifiedTask, hands: Hands = willing) => performTask({ hands, book, log: () => {}, now }, given)

describe('a task', () => {
  test('SG-10 what is set about is written down before the hands move, and what is applied after', async () => {
    const seen: unknown[] = []
    const hands = {
      ...willing,
      provisionUser: async () => {
        seen.push(...(await state.allocations()).map(({ begun, applied }) => [begun, applied]))
        return {}
      },
    }
    expect(await perform(task(3, 'provision_user'), hands)).toEqual({
      outcome: 'completed',
      generation: 3,
      receipt: { applied_generation: 3 },
    })
    expect(seen).toEqual([[3, null]])
    expect(await state.allocations()).toMatchObject([{ begun: 3, applied: { generation: 3, type: 'allocation.provision_user' } }])
  })

  test('SG-10 after one that failed halfway nothing older is performed, and the same is', async () => {
    await perform(task(1, 'provision_user'))
    const broken = { ...willing, installKeys: () => Promise.reject(new HandsFailed('disk_full')) }
    expect(await perform(task(5, 'install_authorized_keys'), broken)).toEqual({
      outcome: 'failed',
      generation: 5,
      failure: 'disk_full',
      receipt: { applied_generation: 1 },
    })
    // Not vouched for: what was begun is not applied.
    expect(await perform(task(4, 'install_authorized_keys'))).toEqual({ outcome: 'superseded', generation: 4 })
    expect(await perform(task(5, 'install_authorized_keys'))).toMatchObject({
      outcome: 'completed',
      receipt: { applied_generation: 5, set_hash: 'h' },
    })
  })

  test('SG-10 an account that is gone is not brought back by what was meant for it before, also after a restart', async () => {
    await perform(task(1, 'provision_user'))
    await perform(task(9, 'deprovision_user'))
    book = await openAllocationBook(state, now())
    expect(await perform(task(2, 'provision_user'))).toEqual({ outcome: 'superseded', generation: 2, receipt: { applied_generation: 9 } })
  })

  test('what is there is never forgotten', async () => {
    await perform(task(1, 'provision_user'))
    expect((await openAllocationBook(state, new Date(now().getTime() + 400 * 864e5))).all()).toHaveLength(1)
  })

  test('what is gone is forgotten when no task of its time can be good any more', async () => {
    await perform(task(9, 'deprovision_user'))
    const later = (days: number) => new Date(now().getTime() + days * 864e5)
    expect((await openAllocationBook(state, later(29))).all()).toHaveLength(1)
    expect((await openAllocationBook(state, later(31))).all()).toHaveLength(0)
  })

  test.for([
    ['a name that another allocation has', 'username_taken', { allocation_id: '00000000-0000-7000-8000-0000000000cc' }],
    ['another name than it had', 'username_changed', { username: 'gh-others' }],
  ] as const)('%s is not given to an allocation', async ([, failure, more]) => {
    await perform(task(1, 'provision_user'))
    const hands = { ...willing, installKeys: () => Promise.reject(new Error('touched')) }
    expect(await perform(task(2, 'install_authorized_keys', more), hands)).toMatchObject({ outcome: 'failed', failure })
  })

  test('a name is free again when its account is gone', async () => {
    await perform(task(1, 'provision_user'))
    await perform(task(2, 'deprovision_user'))
    const other = { allocation_id: '00000000-0000-7000-8000-0000000000cc' }
    expect(await perform(task(1, 'provision_user', other))).toMatchObject({ outcome: 'completed' })
  })

  test('a receipt says that something had been changed by hand', async () => {
    await perform(task(1, 'provision_user'))
    await book.keep({ ...book.get(allocation_id)!, drift_found_at: now().toISOString() })
    expect(await perform(task(2, 'install_authorized_keys'))).toMatchObject({ receipt: { drift_found: true } })
    expect(await perform(task(3, 'install_authorized_keys'))).not.toMatchObject({ receipt: { drift_found: true } })
  })

  test('what nobody expected is told as that, without its words', async () => {
    const broken = { ...willing, provisionUser: () => Promise.reject(new Error('/etc/shadow: permission denied')) }
    expect(await perform(task(1, 'provision_user'), broken)).toMatchObject({ outcome: 'failed', failure: 'unexpected' })
  })
})
