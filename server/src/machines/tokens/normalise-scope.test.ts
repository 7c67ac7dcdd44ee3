import fc from 'fast-check'
import { expect, test } from 'vitest'
import { actions } from '#rails/authz/actions.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import { processorMs } from '../../../../test/cpu-time.ts'
import { allowedFor, normaliseScope } from './normalise-scope.ts'

const keys = Object.keys(actions)
const key = fc.constantFrom(...keys)
/** What an attacker would write between keys that are some. */
const junk = fc.constantFrom(
  '*',
  'allocation.*',
  'nothing.such',
  '__proto__',
  'constructor',
  'toString',
  '"',
  'ALLOCATION',
  'allocation.read\t',
  '\u00a0',
)
const items = fc.array(fc.oneof({ weight: 3, arbitrary: key }, junk), { maxLength: 30 })

test('TI-09 T13 order, repetition and case do not matter', () => {
  fc.assert(
    fc.property(items, fc.infiniteStream(fc.boolean()), fc.infiniteStream(fc.nat()), (list, upper, chance) => {
      const shuffled = [...list, ...list]
        .map((item) => ({ item: upper.next().value ? item.toUpperCase() : item, at: chance.next().value }))
        .sort((a, b) => a.at - b.at)
        .map(({ item }) => item)
      expect(normaliseScope(shuffled.join(' '))).toEqual(normaliseScope(list.join(' ')))
    }),
  )
})

test('TI-09 what comes out are the keys that stand there, sorted, each once, and coming in again they stay', () => {
  fc.assert(
    fc.property(items, (list) => {
      const normal = normaliseScope(list.join(' '))
      expect(normal).toEqual([...new Set(list.filter((item) => keys.includes(item)))].sort())
      expect(normaliseScope(normal.join(' '))).toEqual(normal)
    }),
  )
})

test.each([
  ['a tab', 'allocation.read\tallocation.create'],
  ['a line', 'allocation.read\nallocation.create'],
  ['another blank', 'allocation.read\u00a0allocation.create'],
  ['a wide blank', 'allocation.read\u3000allocation.create'],
  ['a comma', 'allocation.read,allocation.create'],
])('TI-09 nothing but a space separates: %s makes one item, which is no key', (_what, text) => {
  expect(normaliseScope(text)).toEqual([])
})

test.each([
  ['a star', '*'],
  ['a prefix', 'allocation. allocation'],
  ['a member of every object', '__proto__ constructor hasOwnProperty'],
  ['a letter whose small form is ours', 'allocation.read'.replace('a', '\u0410')],
  ['blanks', '   '],
  ['the key that overrides', 'authorization.override.all'],
])('TI-09 %s asks for nothing', (_what, text) => {
  expect(normaliseScope(text)).toEqual([])
})

test('TI-09 T13 ten thousand items, or one that never ends, cost no more than reading them', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => (n % 2 ? 'allocation.read' : `item.${n}`)).join(' ')
  for (const [text, asked] of [
    [many, ['allocation.read']],
    ['a'.repeat(250_000), []],
    [' '.repeat(250_000), []],
  ] as const)
    expect(processorMs(() => expect(normaliseScope(text)).toEqual(asked))).toBeLessThan(1000)
})

test('TI-09 RP-24 a service account can carry what is fit for it and nothing else of tenants or the platform', () => {
  const carried = [...carriedInTokens('service_account')]
  expect(carried).toContain('allocation.create')
  // What is judged with the tenant and is yet the project's own.
  expect(carried.filter((each) => actions[each as keyof typeof actions].tier !== 'project')).toEqual(['project.read'])
  expect(carried).not.toContain('auth.token.issue')
  expect(carried).not.toContain('project.service_account.manage')
})

test('TI-06 policy allows what it lists; a star is all that the class can carry, and what is not said is not allowed', () => {
  expect(allowedFor('service_account', { service_account: ['*'] })).toEqual(carriedInTokens('service_account'))
  expect([...allowedFor('service_account', { service_account: ['allocation.read', 'platform.admin', 'x'] })]).toEqual(['allocation.read'])
  expect(allowedFor('service_account', { workload: ['*'] }).size).toBe(0)
  expect(allowedFor('service_account', Object.create({ service_account: ['*'] })).size).toBe(0)
})
