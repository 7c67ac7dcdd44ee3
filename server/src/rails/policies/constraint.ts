import type { Condition } from '@gatehouse/contract/conditions'
import { type PolicyScopeType, policyScopes } from '@gatehouse/contract/policies'
import { type Attributes, holds } from './condition.ts'

export type ScopeType = PolicyScopeType

/** A rule that takes away, as its current version says it. */
export interface Constraint {
  readonly constraint_id: string
  readonly version: number
  readonly key: string
  readonly scope_type: ScopeType
  readonly actions: readonly string[]
  readonly condition: Condition
  readonly time_zone: string
  readonly is_locked: boolean
  readonly state: string
}

const width = ({ scope_type }: Constraint) => policyScopes.indexOf(scope_type)

/** Only what is known to be disabled is not: a state of a later version must not exempt. */
const isActive = ({ state }: Constraint) => state !== 'disabled'

/** Per key one rule counts: the widest that is locked, else the most specific, which may be an exemption. */
const thatCounts = (sameKey: readonly Constraint[]): Constraint => {
  const widestFirst = sameKey.toSorted((a, b) => width(a) - width(b))
  return widestFirst.find((rule) => rule.is_locked && isActive(rule)) ?? widestFirst.at(-1)!
}

const byWidthThenKey = (a: Constraint, b: Constraint) => width(a) - width(b) || (a.key < b.key ? -1 : 1)

/** Remembered per list, which is never changed. */
const remembered = <Found>(compute: (chain: readonly Constraint[]) => Found) => {
  const known = new WeakMap<readonly Constraint[], Found>()
  return (chain: readonly Constraint[]): Found => {
    const before = known.get(chain)
    if (before !== undefined) return before
    const found = compute(chain)
    known.set(chain, found)
    return found
  }
}

/** The rules of a chain that can deny at all, in the order in which they decide. */
export const effectiveRules = remembered((chain): readonly Constraint[] =>
  [...Map.groupBy(chain, ({ key }) => key).values()].map(thatCounts).filter(isActive).sort(byWidthThenKey),
)

/** Over the platform's own actions no tenant rules, neither to deny nor to exempt. */
export const globalRules = remembered((chain): readonly Constraint[] => chain.filter(({ scope_type }) => scope_type === 'global'))

/** The zones by whose clocks a chain judges. */
export const zonesOf = remembered((chain): readonly string[] => [...new Set(chain.map(({ time_zone }) => time_zone))])

/** A group is written `allocation.*` and means every key that begins so. */
export const covers = ({ actions }: Pick<Constraint, 'actions'>, action: string): boolean =>
  actions.some((named) => named === action || (named.endsWith('.*') && action.startsWith(named.slice(0, -1))))

/** The attributes of a request for one rule, whose zone says which minute and weekday it is. */
export type AttributesIn = (time_zone: string) => Attributes

/** Whether a rule is known to hold: not merely that it could not be judged. */
export const surelyDenies = (rule: Constraint, attributesIn: AttributesIn): boolean => {
  try {
    return holds(rule.condition, attributesIn(rule.time_zone)) === true
  } catch {
    return false
  }
}

/** What cannot be judged denies, and so does what breaks in the attempt. */
export const denies = (rule: Constraint, attributesIn: AttributesIn): boolean => {
  try {
    return holds(rule.condition, attributesIn(rule.time_zone)) !== false
  } catch {
    return true
  }
}
