import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import type { Act } from '#ground/work/work.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import { actingFor, actorsIn } from './act.ts'
import { isWithin, narrowed, type Parent, untilEndOf } from './narrow.ts'
import { type Bound, evaluateIssuance, type TokenPolicy } from './token-policy.ts'

const keys = [...carriedInTokens('service_account')].sort().slice(0, 12)
const own = 'gpuaas-api'
const audiences = [own, 'gpuaas-storage', 'gpuaas-node']
const [actor_id, org_id, project_id] = [newId('service_account'), newId('organization'), newId('project')]
const base = 1_900_000_000

const someKeys = fc.subarray(keys)
const aParent: fc.Arbitrary<Parent> = fc.record({
  id: fc.constant(newId('token')),
  audience: fc.constantFrom(...audiences),
  scope: someKeys,
  exp: fc.integer({ min: base + 1, max: base + 10_000 }),
  act: fc.constant(null),
})
const aBound: fc.Arbitrary<Bound> = someKeys.map((held) => ({
  actor_type: 'service_account',
  actor_id,
  org_id,
  project_id,
  resources: [{ type: 'project', id: project_id }],
  held: new Set(held),
}))
const aPolicy: fc.Arbitrary<TokenPolicy> = fc.record({
  ttl_seconds: fc.integer({ min: 60, max: 86_400 }),
  max_ttl_seconds: fc.integer({ min: 60, max: 86_400 }),
  allowed_audiences: fc.subarray(audiences),
  allowed_scopes: fc.oneof(
    fc.constant({ service_account: ['*'] }),
    someKeys.map((list) => ({ service_account: list })),
  ),
  default_audience: fc.constant(own),
})
const aRequest = fc.record(
  {
    scope: fc.oneof(
      someKeys.map((some) => some.join(' ')),
      fc.constant('platform.admin *'),
    ),
    audience: fc.constantFrom(...audiences, 'nobody'),
    ttl_seconds: fc.integer({ min: 1, max: 300_000_000 }),
  },
  { requiredKeys: [] },
)
const anInstant = fc.integer({ min: 0, max: 999 }).map((ms) => new Date(base * 1000 + ms).toISOString())

type Judge = typeof narrowed
/** What is granted must lie within both: the token that was brought, and what would be granted without it. */
const holds = (judge: Judge) =>
  fc.property(aParent, aBound, aPolicy, aRequest, anInstant, (parent, bound, policy, request, issued_at) => {
    const within = judge(parent, { bound, policy, issued_at })
    const evaluated = evaluateIssuance(request, within.bound, within.policy)
    if (!('granted' in evaluated)) return
    const { audience, scope, ttl_seconds } = evaluated.granted
    const iat = Math.floor(Date.parse(issued_at) / 1000)
    expect(parent.scope).toEqual(expect.arrayContaining([...scope]))
    expect([...bound.held]).toEqual(expect.arrayContaining([...scope]))
    expect(ttl_seconds).toBeGreaterThan(0)
    expect(iat + ttl_seconds).toBeLessThanOrEqual(parent.exp)
    expect(ttl_seconds).toBeLessThanOrEqual(Math.min(policy.ttl_seconds, policy.max_ttl_seconds))
    expect(policy.allowed_audiences).toContain(audience)
    if (parent.audience !== own) expect(audience).toBe(parent.audience)
    expect(within.bound).toEqual({ ...bound, held: within.bound.held })
  })

describe('a token that comes from another', () => {
  test('TI-17 holds nothing that the other does not: scope, audience, end, project and organization', () => {
    fc.assert(holds(narrowed), { numRuns: 3000 })
  })

  const faults: [string, Judge][] = [
    ['the scope of the subject is not looked at', (parent, by) => ({ ...narrowed(parent, by), bound: by.bound })],
    ['what the subject has lost since is kept', (p, by) => ({ ...narrowed(p, by), bound: { ...by.bound, held: new Set(p.scope) } })],
    [
      'it lives as long as any',
      (parent, by) => {
        const within = narrowed(parent, by)
        return { ...within, policy: { ...within.policy, max_ttl_seconds: by.policy.max_ttl_seconds } }
      },
    ],
    [
      'whatever policy allows is an audience',
      (parent, by) => {
        const within = narrowed(parent, by)
        return { ...within, policy: { ...within.policy, allowed_audiences: by.policy.allowed_audiences } }
      },
    ],
    [
      'it is for us if nobody says',
      (parent, by) => ({
        ...narrowed(parent, by),
        policy: { ...narrowed(parent, by).policy, default_audience: own, allowed_audiences: by.policy.allowed_audiences },
      }),
    ],
  ]
  test.each(faults)('TI-17 the control: it is noticed where %s', (_what, judge) => {
    expect(fc.check(holds(judge), { numRuns: 3000, seed: 1 }).failed).toBe(true)
  })

  test('TI-17 through many hands, each is within all before it', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...audiences), { minLength: 2, maxLength: 8 }), (chain) => {
        const isPassed = chain.slice(1).every((audience, n) => isWithin(audience, chain[n]!, own))
        if (isPassed) for (const before of chain) expect(isWithin(chain.at(-1)!, before, own)).toBe(true)
      }),
    )
  })

  test('TI-17 is for whom the other is for, unless somebody else is asked for', () => {
    const [parent] = fc.sample(aParent, 1)
    const [bound] = fc.sample(aBound, 1)
    const [policy] = fc.sample(aPolicy, 1)
    for (const audience of audiences) {
      const by = { bound: bound!, policy: policy!, issued_at: new Date(base * 1000).toISOString() }
      expect(narrowed({ ...parent!, audience }, by).policy.default_audience).toBe(audience)
    }
  })
})

describe('who acts', () => {
  test('TI-17 nobody while the subject itself asks; else the client, before all who acted so far', () => {
    expect(actingFor('a', null, 'a')).toBeNull()
    expect(actingFor('a', null, 'b')).toEqual({ sub: 'b' })
    expect(actingFor('a', { sub: 'b' }, 'b')).toEqual({ sub: 'b' })
    expect(actingFor('a', { sub: 'b' }, 'c')).toEqual({ sub: 'c', act: { sub: 'b' } })
    expect(actingFor('a', { sub: 'b' }, 'a')).toEqual({ sub: 'a', act: { sub: 'b' } })
  })

  test('TI-17 nobody is ever taken out of the chain, and its head is who asked', () => {
    const person = fc.constantFrom('a', 'b', 'c')
    fc.assert(
      fc.property(person, fc.array(person, { maxLength: 8 }), (subject, clients) => {
        let act: Act | null = null
        for (const client of clients) {
          const before: string[] = actorsIn(act)
          act = actingFor(subject, act, client)
          const after = actorsIn(act)
          expect(after.slice(after.length - before.length)).toEqual(before)
          expect(after.length).toBeLessThanOrEqual(before.length + 1)
          expect(after[0] ?? subject).toBe(client)
        }
      }),
    )
  })
})

describe('the end of a credential', () => {
  const policy: TokenPolicy = {
    ...{ ttl_seconds: 600, max_ttl_seconds: 3600, allowed_audiences: [own], allowed_scopes: {}, default_audience: own },
  }
  const at = (seconds: number) => new Date((base + seconds) * 1000).toISOString()

  test('TI-06 limits: a credential without an end → policy alone counts', () => {
    expect(untilEndOf(null, policy, at(0))).toBe(policy)
    expect(untilEndOf(at(100_000), policy, at(0))).toEqual(policy)
  })

  test.for([
    [0.9, 90.9, 90],
    [0.9, 90.1, 90],
    [0, 1, 1],
  ] as const)('TI-06 limits: asked at %s, ends at %s → lives %s whole seconds, and none past the end', ([from, to, seconds]) => {
    expect(untilEndOf(at(to), policy, at(from))!.max_ttl_seconds).toBe(seconds)
  })

  test('TI-06 limits: it ends within this second → nothing is left to issue', () => {
    expect(untilEndOf(at(0.9), policy, at(0.1))).toBeNull()
    expect(untilEndOf(at(0), policy, at(5))).toBeNull()
  })
})
