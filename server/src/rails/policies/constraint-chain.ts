import { isDeepStrictEqual } from 'node:util'
import type { Reader } from '#ground/db/database.ts'
import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import type { Constraint, ScopeType } from './constraint.ts'
import { rulesOf } from './constraint-queries.ts'

/** Where a chain of rules ends: in a project of a tenant, in a tenant, or with the platform. */
export interface ChainEnd {
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** One scope on a chain. */
interface RuleScope extends ChainEnd {
  readonly type: ScopeType
}

type Rules = readonly Constraint[]
const none: Rules = []

const idOf = ({ type, tenant_id, project_id }: RuleScope) => (type === 'project' ? project_id : tenant_id)
const nameOf = (scope: RuleScope) => `${scope.type} ${idOf(scope)}`

type Make = (rule: Constraint) => Constraint
const asRead: Make = (rule) => rule

const readRules = async (reader: Pick<Reader, 'many'>, scopes: readonly RuleScope[], make: Make): Promise<Map<string, Rules>> => {
  const idsOf = (type: ScopeType) => scopes.filter((scope) => scope.type === type).map((scope) => idOf(scope)!)
  const rows = await reader.many(rulesOf(idsOf('tenant'), idsOf('project')))
  const found = Map.groupBy(rows, ({ scope_type, scope_id }) => `${scope_type} ${scope_id}`)
  return new Map([...found].map(([name, rules]) => [name, rules.map(({ scope_id: _scope, ...rule }) => make(rule))]))
}

const scopesOf = ({ tenant_id, project_id }: ChainEnd): RuleScope[] => {
  const scopes: RuleScope[] = [{ type: 'global', tenant_id: null, project_id: null }]
  if (tenant_id !== null) scopes.push({ type: 'tenant', tenant_id, project_id: null })
  if (project_id !== null) scopes.push({ type: 'project', tenant_id, project_id })
  return scopes
}

/** Where only one list has rules, it is the chain: what was worked out about it is then found again. */
const chainOf = (lists: readonly Rules[]): Rules => {
  const filled = lists.filter(({ length }) => length > 0)
  return filled.length > 1 ? filled.flat() : (filled[0] ?? none)
}

/** The chains to these ends, each scope read once. */
export const readChains = async (reader: Pick<Reader, 'many'>, ends: readonly ChainEnd[], make = asRead): Promise<Rules[]> => {
  const wanted = new Map(ends.flatMap(scopesOf).map((scope) => [nameOf(scope), scope]))
  const found = await readRules(reader, [...wanted.values()], make)
  return ends.map((end) => chainOf(scopesOf(end).map((scope) => found.get(nameOf(scope)) ?? none)))
}

/** By their names, as long as a chain has them. */
const kept = recentlyUsed<WeakRef<Constraint>>(20_000)

/** One rule is one thing, however many chains it is on: a tenant's rules are on those of all its projects, and must not fill the memory with copies. */
const shared = (rule: Constraint): Constraint => {
  const name = `${rule.constraint_id} ${rule.version}`
  const known = kept.get(name)?.deref()
  // A version never changes, unless somebody changes it past the product: then it is another rule of the same name.
  if (known && isDeepStrictEqual(known, rule)) return known
  kept.set(name, new WeakRef(rule))
  return rule
}

/** Kept as a whole: what every question needs is then looked up once. The platform's rules in it are told by a tenant's stamp, too. */
export const constraintChains: Source<ChainEnd, Rules> = {
  name: 'rules',
  textOf: ({ tenant_id, project_id }) => `${tenant_id} ${project_id}`,
  tenantOf: ({ tenant_id }) => tenant_id,
  load: (tx, ends) => readChains(tx, ends, shared),
}

export const wantChain = (end: ChainEnd): Wanted<Rules> => want(constraintChains, end)
