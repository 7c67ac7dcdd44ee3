import type { Condition } from '@gatehouse/contract/conditions'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AttributesIn,
  type Constraint,
  covers,
  denies,
  effectiveRules,
  globalRules,
  type ScopeType,
  surelyDenies,
  zonesOf,
} from './constraint.ts'

const scopes: ScopeType[] = ['global', 'tenant', 'project']
const rule = (scope_type: ScopeType, said: Partial<Constraint> = {}): Constraint => ({
  constraint_id: `${scope_type} ${said.key ?? 'k'}`,
  version: 1,
  key: 'k',
  scope_type,
  actions: ['storage.*'],
  condition: {},
  time_zone: 'UTC',
  is_locked: false,
  state: 'active',
  ...said,
})
const named = (rules: readonly Constraint[]) => rules.map(({ constraint_id }) => constraint_id)
const counting = (...chain: Constraint[]) => named(effectiveRules(chain))

describe('which rules count', () => {
  test('DE-11 the most specific of a key, or the widest that is locked', () => {
    expect(counting(rule('global'), rule('tenant'), rule('project'))).toEqual(['project k'])
    expect(counting(rule('global'), rule('tenant', { is_locked: true }), rule('project'))).toEqual(['tenant k'])
    expect(counting(rule('global', { is_locked: true }), rule('tenant', { is_locked: true }), rule('project'))).toEqual(['global k'])
  })

  test('DE-11 a disabled one exempts where nothing wider is locked, and is never itself locked', () => {
    expect(counting(rule('tenant'), rule('project', { state: 'disabled' }))).toEqual([])
    expect(counting(rule('tenant', { is_locked: true }), rule('project', { state: 'disabled' }))).toEqual(['tenant k'])
    expect(counting(rule('global', { is_locked: true, state: 'disabled' }), rule('tenant'))).toEqual(['tenant k'])
  })

  test('DE-23 a state that this version does not know exempts nobody', () => {
    expect(counting(rule('tenant'), rule('project', { state: 'draft' }))).toEqual(['project k'])
    expect(counting(rule('tenant', { is_locked: true, state: 'draft' }), rule('project', { state: 'disabled' }))).toEqual(['tenant k'])
  })

  test('DE-10 keys do not touch each other; the widest is asked first, then the first by its key', () => {
    expect(
      counting(rule('project', { key: 'a' }), rule('tenant', { key: 'c' }), rule('tenant', { key: 'b' }), rule('global', { key: 'z' })),
    ).toEqual(['global z', 'tenant b', 'tenant c', 'project a'])
  })

  test('DE-13 for any chain: at most one per key, in an order that does not depend on the chain’s, and the chain stays as it was', () => {
    const aRule = fc
      .record({
        scope: fc.constantFrom(...scopes),
        key: fc.constantFrom('a', 'b', 'c'),
        is_locked: fc.boolean(),
        state: fc.constantFrom('active', 'disabled'),
      })
      .map(({ scope, ...said }) => rule(scope, said))
    const aChain = fc.uniqueArray(aRule, { maxLength: 9, selector: ({ constraint_id }) => constraint_id })
    fc.assert(
      fc.property(aChain, (chain) => {
        const before = [...chain]
        const found = effectiveRules(chain)
        expect(new Set(found.map(({ key }) => key)).size).toBe(found.length)
        expect(named(effectiveRules([...chain].reverse()))).toEqual(named(found))
        expect(chain).toEqual(before)
        for (const { key, state, scope_type, is_locked } of found) {
          expect(state).toBe('active')
          const others = chain.filter((each) => each.key === key)
          const widerLock = others.some(
            (each) => each.is_locked && each.state === 'active' && scopes.indexOf(each.scope_type) < scopes.indexOf(scope_type),
          )
          expect(widerLock).toBe(false)
          const isNarrowest = others.every((each) => scopes.indexOf(each.scope_type) <= scopes.indexOf(scope_type))
          expect(is_locked || isNarrowest).toBe(true)
        }
      }),
    )
  })

  test('DE-13 asked again for the same chain it is the same list', () => {
    const chain = [rule('tenant')]
    expect(effectiveRules(chain)).toBe(effectiveRules(chain))
  })
})

test('DE-10 over the platform’s own actions only the platform’s own rules are heard, and the same list is found again', () => {
  const chain = [rule('tenant'), rule('global', { key: 'b' }), rule('project'), rule('global', { key: 'a', state: 'disabled' })]
  expect(named(globalRules(chain))).toEqual(['global b', 'global a'])
  expect(globalRules(chain)).toBe(globalRules(chain))
})

test.each([
  [['storage.read'], 'storage.read', true],
  [['storage.read'], 'storage.write', false],
  [['storage.write', 'storage.read'], 'storage.read', true],
  [['storage.*'], 'storage.credential.issue', true],
  [['storage.*'], 'storages.read', false],
  [['storage.credential.*'], 'storage.read', false],
  [['stor*'], 'storage.read', false],
  [['*'], 'storage.read', false],
  [['.*'], 'storage.read', false],
  [['STORAGE.*'], 'storage.read', false],
  [['storage.read.*'], 'storage.read', false],
  [[], 'storage.read', false],
])('DE-10 %j names %s: %s', (actions, action, isCovered) => {
  expect(covers({ actions }, action)).toBe(isCovered)
})

describe('what denies', () => {
  const inEurope = { in: { region: ['eu'] } }
  const at = (attributes: object) => () => attributes

  test.each([
    ['what holds', { region: 'eu' }, true, true],
    ['what cannot be said', {}, true, false],
    ['what is known not to hold', { region: 'us' }, false, false],
  ])('DE-10 DE-23 %s', (_name, attributes, isDenied, isSure) => {
    const inEuropeOnly = rule('tenant', { condition: inEurope })
    expect([denies(inEuropeOnly, at(attributes)), surelyDenies(inEuropeOnly, at(attributes))]).toEqual([isDenied, isSure])
  })

  test('DE-23 D3 what breaks in the attempt denies, though nobody can be sure: the attributes, the document, the range', () => {
    const breaks = () => {
      throw new Error('no such zone')
    }
    const judged = (condition: unknown, attributesIn: AttributesIn = at({ source_ip: '10.0.0.1' })) => {
      const broken = rule('tenant', { condition: condition as Condition })
      return [denies(broken, attributesIn), surelyDenies(broken, attributesIn)]
    }
    expect(judged(inEurope, breaks)).toEqual([true, false])
    for (const condition of [null, undefined, { in: null }, { any: 7 }, { within: { source_ip: ['nowhere'] } }])
      expect(judged(condition)).toEqual([true, false])
  })

  test('DE-01 the rule’s own zone is the one that is asked for', () => {
    const zones: string[] = []
    denies(rule('tenant', { time_zone: 'Asia/Tokyo' }), (zone) => {
      zones.push(zone)
      return {}
    })
    expect(zones).toEqual(['Asia/Tokyo'])
  })
})

test('DE-01 a chain names the zones of all of its rules, each once', () => {
  const chain = ['UTC', 'Asia/Tokyo', 'UTC'].map((time_zone) => rule('tenant', { time_zone }))
  expect(zonesOf(chain)).toEqual(['UTC', 'Asia/Tokyo'])
  expect(zonesOf([])).toEqual([])
})
