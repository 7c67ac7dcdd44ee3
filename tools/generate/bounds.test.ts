import { expect, test } from 'vitest'
import { faultsIn, growingThings } from './bounds.ts'
import { tableBounds } from './declared-bounds.ts'

const growing = growingThings()

test('HO-11 bounds: every table and every kept map → a policy, a prune job, a fixed number, or for ever with the reason', () => {
  expect(growing.tables.length).toBeGreaterThan(40)
  expect(growing.maps.length).toBeGreaterThan(30)
  expect(growing.jobs.size).toBeGreaterThan(3)
  expect(faultsIn(growing)).toEqual([])
})

test('HO-11 bounds: a new table, a new map, a job that nobody runs, a policy that is gone → named', () => {
  expect(faultsIn({ ...growing, tables: [...growing.tables, 'heap'] })).toEqual(['table heap has no bound'])
  expect(faultsIn({ ...growing, maps: [...growing.maps, 'rails/http/new.ts kept'] })).toEqual([
    'rails/http/new.ts kept has no bound, and is not declared to end with its call',
  ])
  expect(faultsIn({ ...growing, jobs: new Set([...growing.jobs].filter((job) => job !== 'forget-tokens')) })).toEqual([
    'forget-tokens, which bounds issued_tokens, is no job of a room',
  ])
  expect(faultsIn(growing, { ...tableBounds, users: { policy: 'no.such' as never } })).toEqual([
    'no.such, which bounds users, is no policy',
  ])
  expect(faultsIn(growing, { ...tableBounds, gone: { for_ever: 'no' } })).toEqual(['there is no table gone'])
})
