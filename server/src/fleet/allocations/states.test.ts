import { type AllocationState, allocationStates } from '@gatehouse/contract/allocations'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Happening, happenings, isOpen, movedBy } from './states.ts'

const legal = [
  'requested placed provisioning',
  'requested release_asked released',
  'provisioning installed active',
  'provisioning not_provided failed',
  'provisioning release_asked releasing',
  'provisioning node_retired failed',
  'active release_asked releasing',
  'active node_retired failed',
  'releasing cleared released',
  'releasing not_cleared release_failed',
  'releasing node_retired failed',
  'release_failed release_asked releasing',
  'release_failed cleared released',
  'release_failed node_retired failed',
]

test('SG-23 these moves are the workflow, and there is no other', () => {
  const all = allocationStates.flatMap((state) => happenings.map((happening) => [state, happening, movedBy(state, happening)] as const))
  expect(all.filter(([, , to]) => to !== undefined).map((move) => move.join(' '))).toEqual(legal)
})

const walked = (path: readonly Happening[]): AllocationState[] => {
  const states: AllocationState[] = ['requested']
  for (const happening of path) states.push(movedBy(states.at(-1)!, happening) ?? states.at(-1)!)
  return states
}

test('SG-23 whatever happens in whatever order: who was let go is never let in again, and nothing counts as released that was on a node and not cleared', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...happenings), { maxLength: 30 }), (path) => {
      const states = walked(path)
      const closed = states.findIndex((state) => !isOpen(state))
      if (closed >= 0) expect(states.slice(closed).filter(isOpen)).toEqual([])
      const released = states.indexOf('released')
      if (released > 0 && states.includes('provisioning'))
        expect([isOpen(states[released - 1]!), path[released - 1]]).toEqual([false, 'cleared'])
      for (const end of ['released', 'failed'] as const) {
        const at = states.indexOf(end)
        if (at >= 0) expect(new Set(states.slice(at))).toEqual(new Set([end]))
      }
    }),
    { numRuns: 2000 },
  )
})
