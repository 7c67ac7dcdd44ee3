import { isFitForAccounts, isOverridable, ownerOf, type Tier, tierOf } from './law.ts'

export interface Scope {
  readonly id: string
  /** For reading. */
  readonly name: string
  readonly tier: Tier
  readonly org: string
}

export interface Role {
  readonly id: string
  readonly name: string
  readonly tier: Tier
  /** Null: the product's own, in every scope of its tier. */
  readonly scope: string | null
  readonly versions: ReadonlySet<string>[]
  /** `phasing`: takes no new binding, and those that it has still count. `blocked`: they count no more. */
  state: 'active' | 'phasing' | 'blocked'
  by_platform: boolean
  is_deleted: boolean
}

export interface Binding {
  readonly scope: string
  readonly person: string
  readonly role: string
  version: number
}

export interface Invitation {
  readonly id: string
  readonly scope: string
  readonly to: string
  readonly role: string
  readonly version: number
  readonly inviter: string
  state: 'pending' | 'accepted' | 'ended'
}

/** A service account: whoever has a key of it can do what its roles give. */
export interface Account {
  readonly id: string
  readonly scope: string
  readonly roles: { readonly role: string; readonly version: number }[]
  /** Who made a key of it. */
  readonly holders: Set<string>
}

/** All that the rules speak of. */
export interface State {
  readonly people: readonly string[]
  readonly superadmins: ReadonlySet<string>
  readonly scopes: Map<string, Scope>
  readonly members: Map<string, Set<string>>
  readonly roles: Map<string, Role>
  bindings: Binding[]
  readonly invitations: Map<string, Invitation>
  readonly accounts: Map<string, Account>
  /** Which power over roles lets somebody upgrade: `define`, but for a build that was changed. */
  readonly upgrades_by: 'define' | 'assign'
}

export const scopeIn = (state: State, id: string): Scope => state.scopes.get(id)!
export const isMember = (state: State, person: string, scope: string): boolean => state.members.get(scope)?.has(person) ?? false
export const projectsOf = (state: State, org: string): Scope[] =>
  [...state.scopes.values()].filter((s) => s.tier === 'project' && s.org === org)

/** A role that can be named in a scope: the product's own of that tier, and the scope's. */
export const roleIn = (state: State, { id, tier }: Scope, role_id: string): Role | undefined => {
  const role = state.roles.get(role_id)
  return role && role.tier === tier && (role.scope === null || role.scope === id) && !role.is_deleted ? role : undefined
}

export const bindingIn = (state: State, scope: string, person: string, role: string): Binding | undefined =>
  state.bindings.find((binding) => binding.scope === scope && binding.person === person && binding.role === role)

export const isOwnerRole = ({ scope, name, tier }: Role): boolean => scope === null && name === ownerOf[tier]
export const ownersIn = (state: State, scope: string): string[] =>
  state.bindings.filter((each) => each.scope === scope && isOwnerRole(state.roles.get(each.role)!)).map(({ person }) => person)

/** What somebody's roles in a scope come to, without anything that the platform lets him do. */
export const ownKeys = (state: State, person: string, scope: string): ReadonlySet<string> => {
  const keys = new Set<string>()
  if (!isMember(state, person, scope)) return keys
  for (const binding of state.bindings) {
    if (binding.scope !== scope || binding.person !== person) continue
    const role = state.roles.get(binding.role)!
    if (role.is_deleted || role.state === 'blocked') continue
    for (const key of role.versions[binding.version - 1]!) keys.add(key)
  }
  return keys
}

/** What an account's roles give it, or would if none of them were disabled. */
export const accountKeys = (state: State, { roles }: Account): ReadonlySet<string> =>
  new Set(
    roles.flatMap(({ role, version }) => {
      const { is_deleted, versions } = state.roles.get(role)!
      return is_deleted ? [] : [...versions[version - 1]!].filter(isFitForAccounts)
    }),
  )

const judgedIn = (key: string, { id, org, tier }: Scope): string => (tier === tierOf(key) ? id : org)
export const hasByRole = (state: State, person: string, key: string, scope: Scope): boolean =>
  ownKeys(state, person, judgedIn(key, scope)).has(key)
export const hasByOverride = (state: State, person: string, key: string): boolean => state.superadmins.has(person) && isOverridable(key)
export const may = (state: State, person: string, key: string, scope: Scope): boolean =>
  hasByOverride(state, person, key) || hasByRole(state, person, key, scope)
