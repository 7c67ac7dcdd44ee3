import { TaskResult } from '@gatehouse/contract/node-tasks'
import { Check } from 'typebox/value'
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
  putAway: async () => [],
  describe: async () => ({ devices: [], shared_devices: [], ssh_host: 'paper', ssh_port: 22, ssh_host_keys: [] }),
  unenforced: () => [],
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

  const fingerprint = `SHA256:${'a'.repeat(43)}`
  const endedOf = (...ids: readonly string[]) =>
    ids.map((session_id) => ({ session_id, fingerprint, processes_ended: 1, may_have_left_processes: false }))

  test('SG-19 sessions that were ended are in the receipt, also where the first attempt failed, or died, after it had ended them', async () => {
    await perform(task(1, 'provision_user'))
    const ending = (ids: readonly string[], after: () => Promise<never>): Hands => ({
      ...willing,
      installKeys: async (_params, _generation, keepEnded) => {
        await keepEnded!(endedOf(...ids))
        return after()
      },
    })
    const failing = ending(['a'], () => Promise.reject(new HandsFailed('sshd_reads_more_keys')))
    expect(await perform(task(2, 'install_authorized_keys'), failing)).toMatchObject({
      outcome: 'failed',
      receipt: { sessions_ended: endedOf('a') },
    })
    // One that never comes to its end.
    const { promise: has_ended_them, resolve: die } = Promise.withResolvers<void>()
    const dying = ending(['b'], () => {
      die()
      return new Promise<never>(() => {})
    })
    void perform(task(2, 'install_authorized_keys'), dying)
    await has_ended_them
    book = await openAllocationBook(state, now())
    const last = { ...willing, installKeys: async () => ({ set_hash: 'h', sessions_ended: endedOf('b', 'c') }) }
    expect(await perform(task(2, 'install_authorized_keys'), last)).toMatchObject({
      outcome: 'completed',
      receipt: { sessions_ended: endedOf('a', 'b', 'c') },
    })
  })

  test('SG-19 of more sessions than a receipt holds it names as many as it holds, and says how many there were', async () => {
    await perform(task(1, 'provision_user'))
    const many = endedOf(...Array.from({ length: 1001 }, (_, n) => `s.${n}`))
    const { receipt } = await perform(task(2, 'install_authorized_keys'), {
      ...willing,
      installKeys: async () => ({ sessions_ended: many }),
    })
    expect([receipt!.sessions_ended!.length, receipt!.sessions_ended_count]).toEqual([1000, 1001])
    expect(Check(TaskResult, { outcome: 'completed', generation: 2, receipt })).toBe(true)
  })

  test('what nobody expected is told as that, without its words', async () => {
    const broken = { ...willing, provisionUser: () => Promise.reject(new Error('/etc/shadow: permission denied')) }
    expect(await perform(task(1, 'provision_user'), broken)).toMatchObject({ outcome: 'failed', failure: 'unexpected' })
  })
})

describe('where nothing can be written down', () => {
  const key = (name: string, expires_at: string | null = null) => ({ fingerprint: `SHA256:${name}`, expires_at })
  const full = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }))
  const inFull = async (given: VerifiedTask) => {
    const asked: number[] = []
    const note = async (_: unknown, generation: number) => {
      asked.push(generation)
      return {}
    }
    const hands = { ...willing, installKeys: note, deprovisionUser: note }
    const result = await performTask({ hands, book: { ...book, keep: full }, log: () => {}, now }, given).catch(() => 'comes again')
    return { asked, result }
  }
  beforeEach(async () => {
    await perform(task(1, 'provision_user'))
    await perform(task(2, 'install_authorized_keys', { keys: [key('a'), key('b')] }))
  })

  test.for([
    ['an account goes', task(3, 'deprovision_user')],
    ['a key goes', task(3, 'install_authorized_keys', { keys: [key('a')] })],
    ['a key gets an end', task(3, 'install_authorized_keys', { keys: [key('a'), key('b', '2026-03-01T00:00:00.000Z')] })],
    ['a key goes and another comes', task(3, 'install_authorized_keys', { keys: [key('a'), key('c')] })],
  ] as const)('SG-15 %s all the same, it is said to have failed, and what was before is not brought back', async ([, given]) => {
    expect(await inFull(given)).toEqual({
      asked: [3],
      result: { outcome: 'failed', generation: 3, failure: 'disk_full', receipt: { applied_generation: 2 } },
    })
    expect(book.get(allocation_id)).toMatchObject({ begun: 3, begun_task: { type: given.type, params: given.params } })
    expect(await perform(task(2, 'install_authorized_keys', { keys: [key('a'), key('b')] }))).toMatchObject({ outcome: 'superseded' })
  })

  test('SG-10 nobody is let in by what is not written down', async () => {
    const given = task(3, 'install_authorized_keys', { keys: [key('a'), key('b'), key('c')] })
    expect(await inFull(given)).toEqual({ asked: [], result: 'comes again' })
    expect(book.get(allocation_id)).toMatchObject({ begun: 2 })
  })
})
