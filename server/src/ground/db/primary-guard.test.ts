import { expect, test } from 'vitest'
import { guardPrimary, type ServerState, StaleServer } from './primary-guard.ts'

const at = (timeline: number): ServerState => ({ is_in_recovery: false, timeline })
const standby: ServerState = { is_in_recovery: true, timeline: 0 }
const refusal = (act: () => void) => {
  try {
    act()
    return 'accepted'
  } catch (error) {
    const { code, cause } = error as { code: string; cause: Error }
    return cause instanceof StaleServer ? `${code}: ${cause.message}` : cause
  }
}

test('HA-01 guard: a primary on the same or a later timeline → accepted', () => {
  const guard = guardPrimary()
  for (const timeline of [3, 3, 4, 4]) expect(refusal(() => guard.require(at(timeline)))).toBe('accepted')
})

test('HA-01 guard: a standby, whatever was seen before → refused', () => {
  const guard = guardPrimary()
  expect(refusal(() => guard.require(standby))).toMatch(/^dependency_unavailable: .*hot standby/)
  guard.require(at(3))
  expect(refusal(() => guard.require(standby))).toMatch(/hot standby/)
})

test('HA-01 guard: a timeline below the highest that was seen → refused, until the newer one answers', () => {
  const guard = guardPrimary()
  guard.require(at(3))
  guard.require(at(4))
  expect(refusal(() => guard.require(at(3)))).toMatch(/^dependency_unavailable: .*timeline 3 and timeline 4/)
  expect(refusal(() => guard.require(at(4)))).toBe('accepted')
})
