import type { Reader } from '../db/database.ts'
import { type Source, type Wanted, want } from '../epochs/fresh.ts'
import type { Constraint, ScopeType } from './constraint.ts'
import { rulesOf } from './constraint-queries.ts'

/** Where a chain of rules ends: in a project of a tenant, in a tenant, or with the platform. */
export interface ChainEnd {
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** One scope on a chain. Its rules are read and kept once, however many chains run through it. */
interface RuleScope extends ChainEnd {
  readonly type: ScopeType
}

type Rules = readonly Constraint[]
const none: Rules = []

const idOf = ({ type, tenant_id, project_id }: RuleScope) => (type === 'project' ? project_id : type === 'tenant' ? tenant_id : null)

const readRules = async (reader: Pick<Reader, 'many'>, scopes: readonly RuleScope[]): Promise<Rules[]> => {
  const idsOf = (type: ScopeType) => scopes.filter((scope) => scope.type === type).map((scope) => idOf(scope)!)
  const rows = await reader.many(rulesOf(idsOf('global').length > 0, idsOf('tenant'), idsOf('project')))
  const found = Map.groupBy(rows, ({ scope_type, scope_id }) => `${scope_type} ${scope_id}`)
  return scopes.map((scope) => found.get(`${scope.type} ${idOf(scope)}`)?.map(({ scope_id: _scope, ...rule }) => rule) ?? none)
}

export const constraintRules: Source<RuleScope, Rules> = {
  name: 'rules',
  textOf: (scope) => `${scope.type} ${idOf(scope)} ${scope.tenant_id}`,
  tenantOf: ({ type, tenant_id }) => (type === 'global' ? null : tenant_id),
  load: readRules,
}

const everywhere: RuleScope = { type: 'global', tenant_id: null, project_id: null }
const scopesWithin = ({ tenant_id, project_id }: ChainEnd): RuleScope[] => {
  const scopes: RuleScope[] = []
  if (tenant_id !== null) scopes.push({ type: 'tenant', tenant_id, project_id: null })
  if (project_id !== null) scopes.push({ type: 'project', tenant_id, project_id })
  return scopes
}
const scopesOf = (end: ChainEnd): RuleScope[] => [everywhere, ...scopesWithin(end)]

/** The same lists give the same chain, so that what was worked out about it is found again. */
const joined = new WeakMap<Rules, WeakMap<Rules, WeakMap<Rules, Rules>>>()
/** The chain of lists that were wanted for it, in that order. */
export const chainOf = (lists: readonly (Rules | undefined)[]): Rules => {
  const [wide = none, middle = none, narrow = none] = lists
  if (middle.length === 0 && narrow.length === 0) return wide
  const byMiddle = joined.get(wide) ?? new WeakMap<Rules, WeakMap<Rules, Rules>>()
  joined.set(wide, byMiddle)
  const byNarrow = byMiddle.get(middle) ?? new WeakMap<Rules, Rules>()
  byMiddle.set(middle, byNarrow)
  const chain = byNarrow.get(narrow) ?? [...wide, ...middle, ...narrow]
  byNarrow.set(narrow, chain)
  return chain
}

/** The chains to these ends, each scope read once. */
export const readChains = async (reader: Pick<Reader, 'many'>, ends: readonly ChainEnd[]): Promise<Rules[]> => {
  const wanted = new Map(ends.flatMap(scopesOf).map((scope) => [constraintRules.textOf(scope), scope]))
  const read = await readRules(reader, [...wanted.values()])
  const found = new Map([...wanted.keys()].map((text, index) => [text, read[index]!]))
  return ends.map((end) => chainOf(scopesOf(end).map((scope) => found.get(constraintRules.textOf(scope)))))
}

const rulesEverywhere = want(constraintRules, everywhere)
/** What is kept of the chain to this end. */
export const wantChain = (end: ChainEnd): Wanted<Rules>[] => {
  const wanted = [rulesEverywhere]
  for (const scope of scopesWithin(end)) wanted.push(want(constraintRules, scope))
  return wanted
}
/** Of how many lists that is. */
export const chainLength = ({ tenant_id, project_id }: ChainEnd): number => 1 + (tenant_id === null ? 0 : 1) + (project_id === null ? 0 : 1)
