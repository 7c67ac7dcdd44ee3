import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { actions } from '#rails/authz/actions.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import { type Bound, evaluateIssuance, type Grant, type TokenPolicy, type TokenRequest } from './token-policy.ts'

const [actor_id, org_id, project_id, stranger] = [newId('sa'), newId('org'), newId('project'), newId('other')]
const bound: Bound = {
  actor_type: 'service_account',
  actor_id,
  org_id,
  project_id,
  resources: [
    { type: 'project', id: project_id },
    { type: 'service_account', id: actor_id },
  ],
  held: new Set(['allocation.read', 'allocation.create', 'storage.read']),
}
const policy: TokenPolicy = {
  ttl_seconds: 3600,
  max_ttl_seconds: 3600,
  allowed_audiences: ['gpuaas-api', 'gpuaas-storage'],
  allowed_scopes: { service_account: ['*'] },
  default_audience: 'gpuaas-api',
}
const granted = (request: TokenRequest, by: Partial<TokenPolicy> = {}, to: Partial<Bound> = {}): Grant => {
  const evaluated = evaluateIssuance(request, { ...bound, ...to }, { ...policy, ...by })
  if (!('granted' in evaluated)) throw new Error(`refused: ${evaluated.refused}`)
  return evaluated.granted
}
const refused = (request: TokenRequest, by: Partial<TokenPolicy> = {}, to: Partial<Bound> = {}) => {
  const evaluated = evaluateIssuance(request, { ...bound, ...to }, { ...policy, ...by })
  return 'refused' in evaluated ? evaluated.refused : null
}

describe('lifetime', () => {
  test.each([
    ['none asked', undefined, 3600],
    ['a shorter one', 60, 60],
    ['one second', 1, 1],
    ['the maximum', 3600, 3600],
    ['one more', 3601, 3600],
    ['years', 300_000_000, 3600],
  ])('TI-07 %s', (_what, ttl_seconds, expected) => {
    expect(granted(ttl_seconds === undefined ? {} : { ttl_seconds }).ttl_seconds).toBe(expected)
  })

  test('TI-06 TI-07 T12 the lower of the two limits counts, whichever it is', () => {
    expect(granted({}, { ttl_seconds: 600 }).ttl_seconds).toBe(600)
    expect(granted({ ttl_seconds: 1800 }, { ttl_seconds: 600 }).ttl_seconds).toBe(600)
    expect(granted({}, { ttl_seconds: 86_400 }).ttl_seconds).toBe(3600)
    expect(granted({ ttl_seconds: 7200 }, { ttl_seconds: 86_400, max_ttl_seconds: 7200 }).ttl_seconds).toBe(7200)
  })
})

describe('audience', () => {
  test('TI-08 the default, an allowed one, and no other', () => {
    expect(granted({}).audience).toBe('gpuaas-api')
    expect(granted({ audience: 'gpuaas-storage' }).audience).toBe('gpuaas-storage')
    for (const audience of ['elsewhere', 'GPUAAS-API', 'gpuaas-api ', 'gpuaas-api gpuaas-storage'])
      expect(refused({ audience })).toBe('audience')
  })

  test('TI-08 also the default must be allowed', () => {
    expect(refused({}, { allowed_audiences: ['gpuaas-storage'] })).toBe('audience')
  })
})

describe('binding', () => {
  test('TI-05 TI-10 what is true may be said, all of it at once', () => {
    expect(
      refused({ actor_type: 'service_account', actor_id, org_id, project_id, resource_type: 'project', resource_id: project_id }),
    ).toBeNull()
    expect(refused({ resource_type: 'service_account', resource_id: actor_id })).toBeNull()
  })

  test.each([
    ['actor_type', { actor_type: 'workload' }],
    ['actor_id', { actor_id: stranger }],
    ['org_id', { org_id: stranger }],
    ['project_id', { project_id: stranger }],
    ['resource_type', { resource_type: 'node' }],
    ['resource_id', { resource_id: stranger }],
    ['a resource_type with the id of another', { resource_type: 'project', resource_id: actor_id }],
  ])('TI-10 another %s is refused', (_what, request) => {
    expect(refused(request)).toBe('binding')
  })

  test('TI-10 an operator has no project: to name one is to name another', () => {
    expect(refused({ project_id }, {}, { project_id: null })).toBe('binding')
  })
})

describe('scope', () => {
  test('TI-09 T13 none asked is all that is held, more is narrowed, nothing left is refused', () => {
    expect(granted({}).scope).toEqual(['allocation.create', 'allocation.read', 'storage.read'])
    expect(granted({ scope: 'storage.read allocation.release' }).scope).toEqual(['storage.read'])
    expect(refused({ scope: 'allocation.release' })).toBe('scope')
    expect(refused({ scope: '   ' })).toBe('scope')
    expect(refused({}, {}, { held: new Set() })).toBe('scope')
  })

  test('TI-06 TI-09 policy narrows what is held too', () => {
    const allowed_scopes = { service_account: ['storage.read', 'allocation.release'] }
    expect(granted({}, { allowed_scopes }).scope).toEqual(['storage.read'])
    expect(refused({}, { allowed_scopes: {} })).toBe('scope')
  })

  const keys = Object.keys(actions)
  const some = fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 12 })
  const world = fc.record({
    held: some,
    asked: fc.option(fc.array(fc.constantFrom(...keys, '*', 'x', 'allocation.read\t'), { maxLength: 12 }), { nil: undefined }),
    allowed: fc.oneof(fc.constant<string[]>(['*']), some),
  })
  const scopeIn = ({ held, asked, allowed }: { held: string[]; asked: string[] | undefined; allowed: string[] }) => {
    const evaluated = evaluateIssuance(
      asked === undefined ? {} : { scope: asked.join(' ') },
      { ...bound, held: new Set(held) },
      { ...policy, allowed_scopes: { service_account: allowed } },
    )
    return 'granted' in evaluated ? evaluated.granted.scope : []
  }

  test('TI-09 RP-24 T13 what is granted is exactly what is held, asked for, allowed and fit for the class', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { held, asked, allowed } = drawn
        const expected = keys
          .filter((key) => held.includes(key) && (asked === undefined || asked.includes(key)))
          .filter((key) => (allowed.includes('*') || allowed.includes(key)) && carriedInTokens('service_account').has(key))
          .sort()
        expect(scopeIn(drawn)).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })

  test('TI-09 the order in which anything is said changes nothing', () => {
    fc.assert(
      fc.property(world, ({ held, asked, allowed }) => {
        expect(scopeIn({ held: held.toReversed(), asked: asked?.toReversed(), allowed: allowed.toReversed() })).toEqual(
          scopeIn({ held, asked, allowed }),
        )
      }),
    )
  })
})
