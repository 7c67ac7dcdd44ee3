import type { Chance } from './chance.ts'
import { allKeys, keysOf, tierOf } from './keys.ts'
import type { Rows } from './rows.ts'

const regions = ['eu-1', 'eu-2', 'us-1']
const skus = ['h100', 'a100', 'l4']
const flags = ['spot', 'beta', 'signed']
const ranges = ['10.0.0.0/8', '10.1.0.0/16', '192.168.7.7/32', '0.0.0.0/0', '2001:db8::/32', '2001:db8:1::/48', '::/0', '::1/128']
const addresses = [
  ...['10.0.0.1', '10.1.2.3', '192.168.7.7', '203.0.113.9', '::ffff:10.1.0.9', '::ffff:a01:9', '0:0:0:0:0:ffff:192.168.7.7'],
  ...['2001:db8::5', '2001:DB8:1:0::5', '::1', '::', '2001:db8:0:0:0:0:0:1', '64:ff9b::10.0.0.1'],
]
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland', 'Australia/Lord_Howe', 'America/St_Johns']
const types = ['organization', 'project', 'user', 'allocation', 'storage_bucket', 'shared_runtime']
const attributes = ['region', 'sku', 'gpus', 'flags', 'source_ip', 'minute_of_day', 'weekday', 'resource_type', 'actor_type']

const atLeastOne = <T>(chance: Chance, of: readonly T[]): T[] => {
  const some = chance.some(of, 0.4)
  return some.length > 0 ? some : [chance.one(of)]
}

// Where hours begin and end, times are asked about as well.
const edges = [0, 480, 719, 720, 1020, 1439]
const minutes = (chance: Chance): number[] => {
  const edge = () => chance.one([...edges, 1440, chance.below(1440)])
  return [edge(), edge()]
}

/** Operand by operator; each is one that the contract would accept. */
const operands: Record<string, (chance: Chance) => unknown> = {
  in: (chance) => memberships(chance),
  not_in: (chance) => memberships(chance),
  at_least: (chance) => ({ gpus: chance.one([0, 1, 2, 4, 8]) }),
  at_most: (chance) => ({ gpus: chance.one([0, 1, 2, 4, 8]) }),
  has_any: (chance) => ({ flags: atLeastOne(chance, flags) }),
  has_all: (chance) => ({ flags: atLeastOne(chance, flags) }),
  has_none: (chance) => ({ flags: atLeastOne(chance, flags) }),
  within: (chance) => ({ source_ip: atLeastOne(chance, ranges) }),
  not_within: (chance) => ({ source_ip: atLeastOne(chance, ranges) }),
  between: (chance) => ({ minute_of_day: minutes(chance) }),
  present: (chance) => chance.some(attributes, 0.15).concat(chance.one(attributes)),
  absent: (chance) => [chance.one(attributes)],
}
// Hours twice: they have the most edges.
const operators = [...Object.keys(operands), 'between']

const memberships = (chance: Chance): Record<string, unknown> => {
  const listed = {
    ...(chance.is(0.3) ? { sku: atLeastOne(chance, skus) } : {}),
    ...(chance.is(0.25) ? { weekday: atLeastOne(chance, [1, 2, 3, 4, 5, 6, 7]) } : {}),
    ...(chance.is(0.15) ? { resource_type: atLeastOne(chance, types) } : {}),
    ...(chance.is(0.05) ? { actor_type: atLeastOne(chance, ['user', 'service_account', 'shared_runtime_operator']) } : {}),
  }
  return Object.keys(listed).length > 0 && chance.is(0.6) ? listed : { ...listed, region: atLeastOne(chance, regions) }
}

const group = (chance: Chance, nesting: number): Record<string, unknown> => {
  const tests: Record<string, unknown> = Object.fromEntries(
    Array.from({ length: chance.one([0, 1, 1, 1, 2, 2, 3]) }, () => {
      const operator = chance.one(operators)
      return [operator, operands[operator]!(chance)]
    }),
  )
  // Of another version: nothing can be said of it.
  if (chance.is(0.01)) tests.resembles = { region: regions }
  if (nesting === 0) return tests
  return {
    ...tests,
    ...(chance.is(0.25) ? { any: Array.from({ length: 1 + chance.below(3) }, () => group(chance, nesting - 1)) } : {}),
    ...(chance.is(0.2) ? { not: group(chance, nesting - 1) } : {}),
  }
}

const condition = (chance: Chance): Record<string, unknown> => (chance.is(0.1) ? {} : group(chance, 2))

/** Keys, or one group. Mostly such as cover the action that will be asked about. */
const actionsOf = (chance: Chance, action: string): string[] => {
  const asked = chance.is(0.75) ? action : chance.one(allKeys)
  if (chance.is(0.35)) {
    const parts = asked.split('.')
    return [`${parts.slice(0, 1 + chance.below(parts.length - 1)).join('.')}.*`]
  }
  return [...new Set([asked, ...chance.some(keysOf[tierOf(asked)], 0.1)])]
}

export type Rule = Rows['policy_constraints'][number]
/** Few, so that rules of several scopes meet under one key. */
export const ruleKeys = ['hours', 'regions', 'regions.eu', 'size', 'size-max', 'z']

export const rule = (
  chance: Chance,
  at: Pick<Rule, 'constraint_id' | 'scope_type' | 'tenant_id' | 'project_id' | 'key'>,
  action: string,
): Rule => {
  const is_global = at.scope_type === 'global'
  return {
    ...at,
    version: 1,
    actions: actionsOf(chance, action),
    condition: condition(chance),
    time_zone: chance.is(0.4) ? 'UTC' : chance.one(zones),
    is_locked: chance.is(is_global ? 0.6 : 0.25),
    state: chance.is(0.2) ? 'disabled' : 'active',
    replaced_at: null,
  }
}

const hostile: Record<string, readonly unknown[]> = {
  region: [null, 5, '', ['eu-1'], { eu: 1 }, true, 'EU-1', 'eu-1 ', 'eü-1'],
  sku: [null, 0, '', ['h100'], false, 'h100\n'],
  gpus: [null, '4', 1.5, -1, [2], true, 1e12, {}, ''],
  flags: [null, 'spot', [], ['spot', 1], [null], [['spot']], { spot: true }, 3, ['spot', 'spot'], ['SPOT']],
  source_ip: [
    ...[null, '', 'localhost', '10.0.0.256', '10.0.0', '10.0.0.1/8', ' 10.0.0.1', '010.0.0.1', 167772161, ['10.0.0.1'], '10.0.0.1.2'],
    ...[
      ':::',
      '1::2::3',
      '2001:db8::12345',
      '::ffff:10.0.0.999',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '2001:db8::g',
      '::10.0.0.1',
      ':1',
      '1:',
    ],
  ],
  time: [
    ...[null, '', 'now', 1767225600000, '2026-01-01', '2026-02-30T10:00:00Z', '2026-13-01T00:00:00Z', '2026-01-01T25:00:00Z'],
    ...['2026-01-01T24:00:00Z', '2026-01-01T10:60:00Z', '2026-01-01T10:00:00', '2026-01-01T10:00Z', 'Thu, 01 Jan 2026 00:00:00 GMT', true],
    ...[['2026-01-01T00:00:00Z'], '2026-01-01T00:00:00+24:00', '20260101T000000Z', '2026-1-1T00:00:00Z', '2026-01-01T00:00:00+0100'],
  ],
}

const fair: Record<string, (chance: Chance) => unknown> = {
  region: (chance) => chance.one(regions),
  sku: (chance) => chance.one(skus),
  gpus: (chance) => chance.one([0, 1, 2, 3, 4, 8, 9]),
  flags: (chance) => chance.some(flags, 0.4),
  source_ip: (chance) => chance.one(addresses),
  time: (chance) => {
    const two = (value: number) => String(value).padStart(2, '0')
    const isEdge = chance.is(0.6)
    const minute = isEdge ? chance.one(edges) + chance.one([-1, 0, 0, 1]) : chance.below(1440)
    const at = `${two(Math.floor(Math.abs(minute % 1440) / 60))}:${two(Math.abs(minute % 60))}`
    const zone = isEdge ? 'Z' : chance.one(['Z', '+02:00', '-03:30', '+14:00', '-00:00'])
    const fraction = chance.one(['', '.5', '.999'])
    return `20${20 + chance.below(10)}-${two(1 + chance.below(12))}-${two(1 + chance.below(28))}T${at}:${two(chance.below(60))}${fraction}${zone}`
  },
}

/** What a request says of itself: mostly fair, sometimes nothing, and as often as asked something that nobody should send. */
export const attributesOf = (chance: Chance, hostility: number): Record<string, unknown> => {
  const said: Record<string, unknown> = {}
  for (const name of Object.keys(fair)) {
    if (chance.is(hostility)) said[name] = chance.one(hostile[name]!)
    else if (chance.is(name === 'time' ? 0.6 : 0.8)) said[name] = fair[name]!(chance)
  }
  return said
}
