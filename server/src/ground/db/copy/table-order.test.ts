import { expect, test } from 'vitest'
import { tableOrder } from './table-order.ts'

const to = (child: string, parent: string, is_deferrable = false) => ({ child, parent, is_deferrable })

test('what is referred to comes first', () => {
  expect(tableOrder(['a', 'b', 'c', 'd'], [to('a', 'c'), to('c', 'd'), to('b', 'a')])).toEqual(['d', 'c', 'a', 'b'])
})

test('a circle that can be deferred is filled as one, before what stands on any part of it', () => {
  const circle = [to('roles', 'versions', true), to('versions', 'roles', true), to('roles', 'users')]
  const order = tableOrder(['bindings', 'roles', 'users', 'versions'], [...circle, to('bindings', 'versions')])
  expect(order.at(-1)).toBe('bindings')
  expect(order[0]).toBe('users')
})

test('within a circle a reference that cannot be deferred decides', () => {
  expect(tableOrder(['a', 'b'], [to('a', 'b'), to('b', 'a', true)])).toEqual(['b', 'a'])
})

test('a circle that cannot be deferred is an error', () => {
  expect(() => tableOrder(['a', 'b', 'c'], [to('a', 'b'), to('b', 'a')])).toThrow('a circle among a, b')
})
