import { expect, test } from 'vitest'
import { judgeSkips } from './skips.ts'

test('a skip that nobody allowed is a fault', () => {
  expect(judgeSkips([], [], ['sleeps late'])).toEqual(['skipped, but not an allowed skip: sleeps late'])
  expect(judgeSkips(['sleeps late'], [], ['sleeps late'])).toEqual([])
})

test('a missing part excuses only the tests that need it', () => {
  const faults = judgeSkips(['part:chromium'], ['chromium'], ['draws (needs chromium)', 'migrates (needs postgres15)'])
  expect(faults).toEqual(['skipped, but not an allowed skip: migrates (needs postgres15)'])
})

test('a present part excuses nothing', () => {
  expect(judgeSkips(['part:chromium'], [], ['draws (needs chromium)'])).toHaveLength(1)
})

test('the list of skips shrinks: a stale line is a fault on a machine that has every part', () => {
  expect(judgeSkips(['sleeps late'], [], [])).toEqual(['no longer skipped, take it off the list: sleeps late'])
  expect(judgeSkips(['part:chromium', 'sleeps late'], ['chromium'], [])).toEqual([])
})

test('a missing part that is not listed, and a listed part that does not exist, are faults', () => {
  expect(judgeSkips([], ['chromium'], [])).toEqual(['chromium is missing and part:chromium is not an allowed skip'])
  expect(judgeSkips(['part:moon'], [], [])).toEqual(['part:moon is on the list of allowed skips, but there is no such part'])
})
