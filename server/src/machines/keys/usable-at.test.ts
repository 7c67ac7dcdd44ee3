import { expect, test } from 'vitest'
import { usableAt } from './usable-at.ts'

const minutes = (count: number) => new Date(Date.UTC(2026, 10, 15, 12) + count * 60_000).toISOString()
const since = (from: number, until: number | null, age_minutes: number) => ({
  age_seconds: age_minutes * 60,
  created_at: minutes(from),
  replaced_at: until === null ? null : minutes(until),
})
/** Ten seconds for what is under way at that moment. */
const settled = (count: number) => new Date(Date.parse(minutes(count)) + 10_000).toISOString()

test('TI-13 a next key waits for as long as the set may be kept', () => {
  expect(usableAt(minutes(0), [since(-999, null, 5)])).toBe(settled(5))
})

test('TI-13 an age that was shortened after it came is still waited for, and one that was lengthened is not', () => {
  expect(usableAt(minutes(0), [since(-999, 1, 60), since(1, null, 5)])).toBe(settled(60))
  expect(usableAt(minutes(0), [since(-999, 1, 5), since(1, null, 60)])).toBe(settled(5))
})

test('TI-13 a longer age of before is waited for as far as somebody may still live by it', () => {
  expect(usableAt(minutes(0), [since(-999, -10, 60), since(-10, null, 5)])).toBe(settled(50))
  expect(usableAt(minutes(0), [since(-999, -70, 60), since(-70, null, 5)])).toBe(settled(5))
})
