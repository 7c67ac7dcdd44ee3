import { BlockList, isIP } from 'node:net'
import type { AttributeName, Condition } from '@gatehouse/contract/conditions'
import { actorTypes } from '@gatehouse/contract/operation'
import type { PolicyScopeType } from '@gatehouse/contract/policies'
import { type Action, isAction, isConstrainable, isForGlobalRules, actions as registry } from '#rails/authz/actions.ts'
import { carriedBy } from '#rails/authz/attributes.ts'
import { covers } from '#rails/policies/constraint.ts'

/** What of a constraint can be wrong beyond its shape. */
export interface ConstraintDocument {
  readonly actions: readonly string[]
  readonly condition: Condition
  readonly time_zone: string
}

/** As a validation error tells it: where, and what is expected there. */
export interface Fault {
  readonly in: 'body'
  readonly field: string
  readonly message: string
}
const fault = (field: string, message: string): Fault => ({ in: 'body', field, message })

const allActions = Object.keys(registry).filter(isAction)
const isGroup = (named: string) => named.endsWith('.*')

/** Of a group, what belongs to the person himself is left out: no rule reaches it, so none need be refused for it. */
const coveredBy = (actions: readonly string[]): Action[] =>
  allActions.filter((action) => isConstrainable(action) && covers({ actions }, action))

const repeated = (list: readonly unknown[], field: string): Fault[] =>
  list.flatMap((item, index) => (list.indexOf(item) < index ? [fault(`${field}/${index}`, 'is there already')] : []))

const faultOfName = (named: string, scope_type: PolicyScopeType): string | undefined => {
  if (!isGroup(named) && !isAction(named)) return 'is not a known action'
  const covered = coveredBy([named])
  if (covered.length === 0) return isGroup(named) ? 'matches no action that can be constrained' : 'cannot be constrained'
  const isBeyond = isGroup(named) ? covered.every(isForGlobalRules) : covered.some(isForGlobalRules)
  if (scope_type !== 'global' && isBeyond) return 'can be constrained by the platform only'
  return undefined
}

const faultsOfActions = (actions: readonly string[], scope_type: PolicyScopeType): Fault[] => [
  ...(actions.length > 1 && actions.some(isGroup) ? [fault('actions', 'must be keys of actions, or one group alone')] : []),
  ...actions.flatMap((named, index) => {
    const message = faultOfName(named, scope_type)
    return message === undefined ? [] : [fault(`actions/${index}`, message)]
  }),
  ...repeated(actions, 'actions'),
]

const ipv4InIpv6 = new BlockList()
ipv4InIpv6.addSubnet('::ffff:0:0', 96, 'ipv6')

const faultOfRange = (range: string): string | undefined => {
  const [address = '', prefix = '', ...more] = range.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0 || !/^(?:0|[1-9]\d*)$/.test(prefix) || Number(prefix) > (family === 6 ? 128 : 32))
    return 'is not a CIDR range'
  // An IPv4 address lies in no IPv6 range, so this one would hold nothing that its author had in mind.
  if (family === 6 && ipv4InIpv6.check(address, 'ipv6')) return 'must be written as an IPv4 range'
  return undefined
}

/** What is misspelled would hold for nobody, and its author would believe that it did. Types of resources are open: whoever asks names his own. */
const faultOfActorType = (type: string): string | undefined =>
  actorTypes.some((each) => each === type) ? undefined : 'is not a type of actor'

const faultOfValue: Partial<Record<AttributeName, (listed: string) => string | undefined>> = {
  source_ip: faultOfRange,
  actor_type: faultOfActorType,
}

const faultsOfValues = (attribute: AttributeName, listed: readonly string[], field: string): Fault[] =>
  listed.flatMap((value, index) => {
    const message = faultOfValue[attribute]?.(value)
    return message === undefined ? [] : [fault(`${field}/${index}`, message)]
  })

interface Test {
  readonly attribute: AttributeName
  readonly field: string
  readonly faults: readonly Fault[]
}

const testOf = (operator: string, attribute: AttributeName, listed: unknown, field: string): Test => ({
  attribute,
  field,
  faults: [
    // From and until may be the same minute.
    ...(Array.isArray(listed) && operator !== 'between' ? repeated(listed, field) : []),
    ...(Array.isArray(listed) ? faultsOfValues(attribute, listed, field) : []),
  ],
})

/** Every test of a condition, however deep it stands. */
const testsIn = (condition: Condition, at: string): Test[] =>
  Object.entries(condition).flatMap(([operator, tested]) => {
    const field = `${at}/${operator}`
    if (operator === 'any') return (tested as Condition[]).flatMap((group, index) => testsIn(group, `${field}/${index}`))
    if (operator === 'not') return testsIn(tested as Condition, field)
    if (operator === 'present' || operator === 'absent') {
      const names = tested as AttributeName[]
      const doubled = repeated(names, field)
      return names.map((attribute, index) => ({ attribute, field: `${field}/${index}`, faults: index === 0 ? doubled : [] }))
    }
    return Object.entries(tested).map(([attribute, listed]) =>
      testOf(operator, attribute as AttributeName, listed, `${field}/${attribute}`),
    )
  })

/** Every decision that a rule covers judges all of its tests. */
const mostLetters = 4096
const mostTests = 50

const faultsOfCondition = (condition: Condition, covered: readonly Action[]): Fault[] => {
  if (JSON.stringify(condition).length > mostLetters) return [fault('condition', `must not be longer than ${mostLetters} characters`)]
  const tests = testsIn(condition, 'condition')
  if (tests.length > mostTests) return [fault('condition', `must not have more than ${mostTests} tests`)]
  return tests.flatMap(({ attribute, field, faults }) => {
    const lacking = covered.find((action) => !carriedBy(action).has(attribute))
    return lacking === undefined ? faults : [fault(field, `is not carried by ${lacking}`), ...faults]
  })
}

const isZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const mostFaults = 50

/** What is wrong with a constraint at a scope: it names what there is not, or could only ever be unknown and so deny everything. */
export const faultsOfConstraint = ({ actions, condition, time_zone }: ConstraintDocument, scope_type: PolicyScopeType): Fault[] =>
  [
    ...faultsOfActions(actions, scope_type),
    ...faultsOfCondition(condition, coveredBy(actions)),
    ...(isZone(time_zone) ? [] : [fault('time_zone', 'is not a time zone')]),
  ].slice(0, mostFaults)
