import { describe, expect, test } from 'vitest'
import type { ShownRow } from './allocation-queries.ts'
import { runtimeSync } from './shown-allocation.ts'

const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`
const row = {
  state: 'active',
  state_since: at(1),
  created_at: at(0),
  generation: 5,
  confirmed_generation: 5,
  confirmed_at: at(4),
  task_id: 'task',
  task_created_at: at(3),
  task_failed_at: null,
  is_access_asked: true,
  abandoned_at: null,
  terms_due_at: null,
} as unknown as ShownRow

describe('SG-20 what is said of the set on the node', () => {
  test.for([
    ['applied when the node has confirmed the latest', {}, 'applied', at(4), 5],
    ['pending when it has confirmed an earlier one only', { confirmed_generation: 4 }, 'pending', at(3), 5],
    ['pending when it has confirmed none', { confirmed_generation: 0, confirmed_at: null }, 'pending', at(3), 5],
    ['failed when the latest has failed', { confirmed_generation: 4, task_failed_at: at(5) }, 'failed', at(5), 5],
    ['applied although the latest was said to fail, where the node has it', { task_failed_at: at(5) }, 'applied', at(4), 5],
    ['pending when a policy has changed since', { terms_due_at: at(6) }, 'pending', at(6), 5],
    ['failed when the node is gone', { confirmed_generation: 4, abandoned_at: at(6) }, 'failed', at(6), 5],
    ['failed when the node is gone, also where it had confirmed the latest', { state: 'failed', abandoned_at: at(6) }, 'failed', at(6), 5],
    [
      'pending, of no generation, while only the account was asked for: that it is there is no set of keys',
      { state: 'provisioning', is_access_asked: false, generation: 1, confirmed_generation: 1 },
      'pending',
      at(0),
      null,
    ],
    [
      'pending while it waits for a node',
      { state: 'requested', is_access_asked: false, task_id: null, generation: 0 },
      'pending',
      at(0),
      null,
    ],
    ['failed where no set was sent before the node was gone', { state: 'failed', is_access_asked: false }, 'failed', at(1), null],
    ['nothing to apply where it was never on a node', { state: 'released', is_access_asked: false, task_id: null }, 'applied', at(1), null],
  ] as const)('%s', ([, change, status, since, generation]) => {
    expect(runtimeSync({ ...row, ...change } as ShownRow)).toMatchObject({ status, since, generation })
  })
})
