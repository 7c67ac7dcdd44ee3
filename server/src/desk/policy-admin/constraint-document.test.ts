import type { Condition } from '@gatehouse/contract/conditions'
import { actorTypes } from '@gatehouse/contract/operation'
import { describe, expect, test } from 'vitest'
import { actions } from '#rails/authz/actions.ts'
import { type ConstraintDocument, faultsOfConstraint } from './constraint-document.ts'

const sound: ConstraintDocument = { actions: ['allocation.create'], condition: { in: { region: ['eu'] } }, time_zone: 'UTC' }
const faults = (changed: Partial<ConstraintDocument>, scope_type: 'global' | 'tenant' | 'project' = 'tenant') =>
  faultsOfConstraint({ ...sound, ...changed }, scope_type).map(({ field, message }) => `${field} ${message}`)
const ofActions = (...named: string[]) => faults({ actions: named, condition: {} })

test('DE-10 a sound constraint has no faults at any scope', () => {
  for (const scope of ['global', 'tenant', 'project'] as const) expect(faults({}, scope)).toEqual([])
})

describe('actions', () => {
  test('DE-10 any key that belongs to no person and not to the platform can be constrained, alone and all together', () => {
    const personal = ['me.read', 'tenant.user.leave', 'project.member.leave', 'tenant.project.read_own']
    const beyond = ['tenant.policy.read', 'tenant.policy.write', ...personal]
    const keys = Object.entries(actions).flatMap(([key, { tier }]) => (tier === 'platform' || beyond.includes(key) ? [] : [key]))
    expect(keys.length).toBeGreaterThan(40)
    for (const key of keys) expect(ofActions(key)).toEqual([])
    expect(ofActions(...keys)).toEqual([])
  })

  test.for([
    ['no.such', 'is not a known action'],
    ['allocation', 'is not a known action'],
    ['toString', 'is not a known action'],
    ['constructor', 'is not a known action'],
    ['authorization.override.all', 'is not a known action'],
    ['me.read', 'cannot be constrained'],
    ['tenant.user.leave', 'cannot be constrained'],
    ['project.member.leave', 'cannot be constrained'],
    ['tenant.project.read_own', 'cannot be constrained'],
    ['me.*', 'matches no action that can be constrained'],
    ['nothing.*', 'matches no action that can be constrained'],
    ['alloc.*', 'matches no action that can be constrained'],
    ['allocation.create.*', 'matches no action that can be constrained'],
  ])('DE-10 %s %s', ([named, message]) => {
    expect(ofActions(named!)).toEqual([`actions/0 ${message}`])
  })

  test('DE-10 a group stands alone and may be deep', () => {
    for (const group of ['allocation.*', 'tenant.*', 'tenant.user.*', 'project.service_account.*']) expect(ofActions(group)).toEqual([])
    const alone = 'actions must be keys of actions, or one group alone'
    expect(ofActions('allocation.*', 'storage.*')).toEqual([alone])
    expect(ofActions('allocation.create', 'allocation.*')).toEqual([alone])
  })

  test('DE-10 what is named twice, or is unknown, is told by its place', () => {
    expect(ofActions('allocation.create', 'no.such', 'allocation.create', 'me.read')).toEqual([
      'actions/1 is not a known action',
      'actions/3 cannot be constrained',
      'actions/2 is there already',
    ])
  })

  test('DE-10 only the platform constrains actions of the platform', () => {
    const document = (...named: string[]) => ({ actions: named, condition: {} })
    for (const named of ['platform.admin', 'platform.*', 'platform.node.*']) {
      expect(faults(document(named), 'global')).toEqual([])
      for (const scope of ['tenant', 'project'] as const)
        expect(faults(document(named), scope)).toEqual(['actions/0 can be constrained by the platform only'])
    }
  })
})

describe('attributes', () => {
  const lacking = (condition: Condition, ...named: string[]) => faults({ condition, actions: named })

  test('DE-10 what one of the actions does not carry is refused wherever it stands', () => {
    const no = 'is not carried by project.read'
    expect(lacking({ in: { sku: ['h100'] } }, 'project.read')).toEqual([`condition/in/sku ${no}`])
    expect(lacking({ in: { sku: ['h100'] } }, 'allocation.create', 'project.read')).toEqual([`condition/in/sku ${no}`])
    expect(lacking({ present: ['source_ip', 'gpus'] }, 'project.read')).toEqual([`condition/present/1 ${no}`])
    expect(lacking({ absent: ['flags'] }, 'project.read')).toEqual([`condition/absent/0 ${no}`])
    expect(lacking({ not: { at_least: { gpus: 8 } } }, 'project.read')).toEqual([`condition/not/at_least/gpus ${no}`])
    const deep: Condition = {
      any: [{ in: { weekday: [1] } }, { any: [{ not_in: { region: ['eu'] } }] }, { not: { has_any: { flags: ['a'] } } }],
    }
    expect(lacking(deep, 'project.read')).toEqual([`condition/any/1/any/0/not_in/region ${no}`, `condition/any/2/not/has_any/flags ${no}`])
  })

  test('DE-10 of a group every action must carry it', () => {
    expect(lacking({ in: { sku: ['h100'] } }, 'allocation.*')).toEqual([])
    expect(lacking({ in: { region: ['eu'] } }, 'storage.*')).toEqual([])
    expect(lacking({ in: { sku: ['h100'] } }, 'storage.*')).toEqual(['condition/in/sku is not carried by storage.bucket.manage'])
  })

  test('DE-10 address, time and the two types are carried by every action', () => {
    const condition: Condition = {
      within: { source_ip: ['10.0.0.0/8'] },
      between: { minute_of_day: [0, 60] },
      in: { weekday: [6, 7], resource_type: ['project'], actor_type: ['user'] },
    }
    for (const [key, { tier }] of Object.entries(actions))
      if (!key.startsWith('me.') && !key.endsWith('leave') && !key.endsWith('read_own'))
        expect(
          faults({ condition, actions: [key] }, tier === 'platform' || key.startsWith('tenant.policy.') ? 'global' : 'project'),
        ).toEqual([])
  })
})

describe('values', () => {
  test('DE-10 a type of actor that there is not is refused, by its place, wherever it stands', () => {
    expect(faults({ condition: { in: { actor_type: [...actorTypes] } } })).toEqual([])
    expect(faults({ condition: { in: { actor_type: ['service_account', 'servce_account'] } } })).toEqual([
      'condition/in/actor_type/1 is not a type of actor',
    ])
    const deep: Condition = { any: [{ not: { not_in: { actor_type: ['User'] } } }], not: { in: { actor_type: ['system', 'toString'] } } }
    expect(faults({ condition: deep })).toEqual([
      'condition/any/0/not/not_in/actor_type/0 is not a type of actor',
      'condition/not/in/actor_type/0 is not a type of actor',
      'condition/not/in/actor_type/1 is not a type of actor',
    ])
  })

  test('DE-10 a type of resource may be any word, for whoever asks the engine brings his own', () => {
    expect(faults({ condition: { in: { resource_type: ['allocation', 'a_thing_of_somebody'] } } })).toEqual([])
  })

  test.for([
    ...['0.0.0.0/0', '10.0.0.0/8', '192.0.2.1/32', '::/0', '2001:db8::/32', '::1/128', 'FE80::/10'].map((range) => [range, undefined]),
    ...[
      '10.0.0.0/33',
      '10.0.0/8',
      '10.0.0.256/8',
      '010.0.0.0/8',
      '10.0.0.0/08',
      '10.0.0.0/',
      '::/129',
      ':::/1',
      '1/1',
      '/8',
      '10.0.0.0/8/8',
    ].map((range) => [range, 'is not a CIDR range']),
    ...['::ffff:10.0.0.0/104', '0:0:0:0:0:ffff:a00:0/104', '::FFFF:0:0/96'].map((range) => [range, 'must be written as an IPv4 range']),
  ])('DE-10 the range %s %s', ([range, message]) => {
    const condition: Condition = { not_within: { source_ip: ['192.0.2.0/24', range!] } }
    expect(faults({ condition })).toEqual(message === undefined ? [] : [`condition/not_within/source_ip/1 ${message}`])
  })

  test.for([
    ['UTC', true],
    ['Europe/Berlin', true],
    ['America/Argentina/Buenos_Aires', true],
    ['Etc/GMT+5', true],
    ['Mars/Phobos', false],
    ['Europe', false],
    ['Europe/', false],
    ['+01:00:99', false],
    ['', false],
  ] as const)('DE-10 the zone %s', ([time_zone, isKnown]) => {
    expect(faults({ time_zone })).toEqual(isKnown ? [] : ['time_zone is not a time zone'])
  })

  test('DE-10 what a list has twice is refused, but from and until may be one minute', () => {
    const condition: Condition = {
      in: { region: ['eu', 'us', 'eu'], weekday: [1, 1] },
      has_any: { flags: ['a', 'a'] },
      within: { source_ip: ['10.0.0.0/8', '10.0.0.0/8'] },
      present: ['sku', 'sku'],
      between: { minute_of_day: [60, 60] },
    }
    expect(faults({ condition })).toEqual([
      'condition/in/region/2 is there already',
      'condition/in/weekday/1 is there already',
      'condition/has_any/flags/1 is there already',
      'condition/within/source_ip/1 is there already',
      'condition/present/1 is there already',
    ])
  })

  test('DE-10 a condition has at most 4096 characters and 50 tests, and no more than 50 faults are told', () => {
    const words = (count: number) => Array.from({ length: count }, (_, at) => `${at}`.padEnd(100, 'x'))
    const condition = (groups: number): Condition => ({ any: Array.from({ length: groups }, () => ({ in: { region: words(30) } })) })
    expect(faults({ condition: condition(1) })).toEqual([])
    expect(faults({ condition: condition(2) })).toEqual(['condition must not be longer than 4096 characters'])
    const many = { any: Array.from({ length: 17 }, () => ({ present: ['region', 'sku', 'gpus'] })) } as Condition
    expect(faults({ condition: many })).toEqual(['condition must not have more than 50 tests'])
    expect(ofActions(...Array.from({ length: 200 }, (_, at) => `no.such_${at}`))).toHaveLength(50)
  })
})
