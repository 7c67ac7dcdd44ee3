import { accountRoles, grantable, ownerOf } from './law.ts'
import type { Move, MoveOf } from './moves.ts'
import {
  accountKeys,
  bindingIn,
  hasByOverride,
  hasByRole,
  type Invitation,
  isMember,
  isOwnerRole,
  may,
  ownersIn,
  ownKeys,
  projectsOf,
  type Role,
  roleIn,
  type Scope,
  type State,
  scopeIn,
} from './state.ts'

/** What the rules say of a move: why not, or what it does. An answer names what was made, where something was. */
export type Verdict =
  | { readonly allowed: false; readonly why: string; readonly is_rule: boolean; readonly apply?: () => void }
  | { readonly allowed: true; readonly apply: (made: string) => void }

const no = (why: string): Verdict => ({ allowed: false, why, is_rule: false })
/** Refused by a rule that keeps somebody from climbing who has the key for the verb, and not for want of it or of a thing. */
const against = (rule: Rule, apply?: () => void): Verdict => ({ allowed: false, why: rule, is_rule: true, ...(apply ? { apply } : {}) })
export const rules = [
  'no role of this tier may hold that key',
  'disabled by the platform',
  'takes no new binding',
  'ceiling',
  'ceiling of the older version',
  'override for oneself',
  'an owner’s',
  'the last owner',
  'owned',
  'may not invite into the organization',
  'the inviter may not give it any more',
  'not for service accounts',
  'ceiling of the account',
] as const
type Rule = (typeof rules)[number]
const yes = (apply: (made: string) => void): Verdict => ({ allowed: true, apply })

/** By what somebody may do a thing: by his own roles, or by override alone. */
interface Grantor {
  readonly person: string
  readonly is_override: boolean
  readonly may_override: boolean
}

const grantor = (state: State, person: string, keys: readonly string[], scope: Scope): Grantor | undefined => {
  const key = keys.find((each) => may(state, person, each, scope))
  if (key === undefined) return undefined
  return { person, is_override: !hasByRole(state, person, key, scope), may_override: hasByOverride(state, person, key) }
}

/** Nobody gives what he does not hold, unless the whole tier is his. Override may, and then it is override that gives. */
const withinCeiling = (state: State, by: Grantor, scope: Scope, given: ReadonlySet<string>): Grantor | undefined => {
  const own = ownKeys(state, by.person, scope.id)
  if (own.has(`${scope.tier}.role.assign_any`) || [...given].every((key) => own.has(key))) return by
  return by.may_override ? { ...by, is_override: true } : undefined
}
const isSelfGrant = ({ person, is_override }: Grantor, to: string): boolean => is_override && person === to

const into: Readonly<Record<Scope['tier'], readonly string[]>> = {
  tenant: ['tenant.user.invite', 'tenant.role.assign'],
  project: ['project.member.invite', 'project.role.assign'],
}

const join = (state: State, person: string, scope: string): void => void state.members.get(scope)!.add(person)
const give = (state: State, person: string, scope: string, role: Role, version: number): void => {
  state.bindings = state.bindings.filter((each) => each !== bindingIn(state, scope, person, role.id))
  state.bindings.push({ scope, person, role: role.id, version })
}
const ownerRole = (state: State, { tier }: Scope): Role =>
  [...state.roles.values()].find(({ scope, name }) => scope === null && name === ownerOf[tier])!

const keysFit = ({ tier }: Scope, keys: readonly string[]): boolean =>
  keys.every((key) => grantable(tier).includes(key)) && new Set(keys).size === keys.length

const newRole = (id: string, name: string, { id: scope, tier }: Scope, keys: readonly string[]): Role => ({
  id,
  name,
  tier,
  scope,
  versions: [new Set(keys)],
  state: 'active',
  by_platform: false,
  is_deleted: false,
})

const define = (state: State, { by, scope: id, name, keys }: MoveOf<'define'>): Verdict => {
  const scope = scopeIn(state, id)
  if (!may(state, by, `${scope.tier}.role.define`, scope)) return no('may not define')
  if (!keysFit(scope, keys)) return against('no role of this tier may hold that key')
  return yes((made) => void state.roles.set(made, newRole(made, name, scope, keys)))
}

/** A custom role of the scope, for somebody who has this power over roles there. */
const defined = (
  state: State,
  { by, scope: id, role: role_id }: { by: string; scope: string; role: string },
  power: 'define' | 'assign' = 'define',
): Role | string => {
  const scope = scopeIn(state, id)
  if (!may(state, by, `${scope.tier}.role.${power}`, scope)) return `may not ${power}`
  const role = roleIn(state, scope, role_id)
  if (!role) return 'no such role here'
  return role.scope === null ? 'the product’s own' : role
}

const update = (state: State, move: MoveOf<'update'>): Verdict => {
  const role = defined(state, move)
  if (typeof role === 'string') return no(role)
  if (move.expected !== role.versions.length) return no('another version is expected')
  if (!keysFit(scopeIn(state, move.scope), move.keys)) return against('no role of this tier may hold that key')
  return yes(() => void role.versions.push(new Set(move.keys)))
}

const disable = (role: Role, mode: string, by_platform: boolean): Verdict => {
  const wanted = mode === 'block_all_now' ? 'blocked' : 'phasing'
  const isHarder = role.state === 'active' || (role.state === 'phasing' && wanted === 'blocked')
  // The platform may make its own what somebody else has disabled.
  const isTakenOver = by_platform && !role.by_platform && role.state === wanted
  if (!isHarder && !isTakenOver) return no('disabled already, and no less')
  return yes(() => {
    role.state = wanted
    role.by_platform ||= by_platform
  })
}
const enable = (role: Role, isPlatform: boolean): Verdict => {
  if (role.state === 'active') return no('not disabled')
  if (role.by_platform && !isPlatform) return against('disabled by the platform')
  return yes(() => Object.assign(role, { state: 'active', by_platform: false }))
}

const changeRole = (state: State, move: MoveOf<'delete' | 'enable'> | MoveOf<'disable'>): Verdict => {
  const role = defined(state, move)
  if (typeof role === 'string') return no(role)
  if (move.kind === 'delete')
    return yes(() => {
      role.is_deleted = true
      // Nobody can accept what is offered with it.
      for (const invitation of state.invitations.values())
        if (invitation.role === role.id && invitation.state === 'pending') invitation.state = 'ended'
    })
  const scope = scopeIn(state, move.scope)
  const isOverride = !hasByRole(state, move.by, `${scope.tier}.role.define`, scope)
  if (move.kind === 'disable') return disable(role, move.mode, isOverride)
  // Whoever is bound to it would get by override what it gives.
  if (isOverride && bindingIn(state, scope.id, move.by, role.id)) return against('override for oneself')
  return enable(role, state.superadmins.has(move.by))
}

const changeBuiltin = (state: State, move: MoveOf<'disable_builtin'> | MoveOf<'enable_builtin'>): Verdict => {
  if (!state.superadmins.has(move.by)) return no('no platform authority')
  const role = state.roles.get(move.role)!
  return move.kind === 'enable_builtin' ? enable(role, true) : disable(role, move.mode, true)
}

/** The role in the version that is named, or the newest, if it can be given now. */
const assignable = (state: State, scope: Scope, role_id: string, version: number | null): { role: Role; version: number } | Verdict => {
  const role = roleIn(state, scope, role_id)
  const wanted = version ?? role?.versions.length ?? 0
  if (!role?.versions[wanted - 1]) return no('no such role here')
  return role.state === 'active' ? { role, version: wanted } : against('takes no new binding')
}

const bind = (state: State, { by, scope: id, role: role_id, version, to, end }: MoveOf<'bind'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, [`${scope.tier}.role.assign`], scope)
  if (!first) return no('may not assign')
  const found = assignable(state, scope, role_id, version)
  if ('allowed' in found) return found
  if (end === 'past' || (end === 'later' && isOwnerRole(found.role))) return no('an end that cannot be')
  let judged = withinCeiling(state, first, scope, found.role.versions[found.version - 1]!)
  if (!judged) return against('ceiling')
  if (!isMember(state, to, id)) return no('no member')
  const older = bindingIn(state, id, to, role_id)
  if (older?.version === found.version) return no('bound already')
  if (older) judged = withinCeiling(state, judged, scope, found.role.versions[older.version - 1]!)
  if (!judged) return against('ceiling of the older version')
  if (isSelfGrant(judged, to)) return against('override for oneself')
  return yes(() => give(state, to, id, found.role, found.version))
}

/** An owner goes by an owner's hand, by the platform's or by his own; the last one stays. */
const ownerStays = (state: State, by: string, scope: Scope, of: string): Rule | undefined => {
  const owners = ownersIn(state, scope.id)
  if (!owners.includes(of)) return undefined
  const isOwner = ownKeys(state, by, scope.id).has(`${scope.tier}.role.assign_any`)
  if (!isOwner && !state.superadmins.has(by) && by !== of) return 'an owner’s'
  return owners.length === 1 ? 'the last owner' : undefined
}

const endBinding = (state: State, { by, scope: id, role: role_id, of }: MoveOf<'end_binding'>): Verdict => {
  const scope = scopeIn(state, id)
  if (!may(state, by, `${scope.tier}.role.assign`, scope)) return no('may not assign')
  const binding = bindingIn(state, id, of, role_id)
  if (!binding) return no('no such binding')
  const stays = isOwnerRole(state.roles.get(role_id)!) ? ownerStays(state, by, scope, of) : undefined
  if (stays) return against(stays)
  return yes(() => {
    state.bindings = state.bindings.filter((each) => each !== binding)
  })
}

const addMember = (state: State, { by, scope: id, role: role_id, to }: MoveOf<'add_member'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, into.project, scope)
  if (!first) return no('may neither invite nor assign')
  const found = assignable(state, scope, role_id, null)
  if (!('role' in found)) return found
  const judged = withinCeiling(state, first, scope, found.role.versions[found.version - 1]!)
  if (!judged) return against('ceiling')
  if (isSelfGrant(judged, to)) return against('override for oneself')
  if (!isMember(state, to, scope.org)) return no('no member of the organization')
  if (isMember(state, to, id)) return no('member already')
  return yes(() => {
    join(state, to, id)
    give(state, to, id, found.role, found.version)
  })
}

/** What rests on a membership ends with it: bindings, and invitations by and to the person. */
const leave = (state: State, person: string, scope: string): void => {
  state.members.get(scope)!.delete(person)
  state.bindings = state.bindings.filter((each) => each.scope !== scope || each.person !== person)
  for (const invitation of state.invitations.values())
    if (invitation.scope === scope && invitation.state === 'pending' && [invitation.inviter, invitation.to].includes(person))
      invitation.state = 'ended'
}

const removeMember = (state: State, { by, scope: id, of }: MoveOf<'remove_member'>): Verdict => {
  const scope = scopeIn(state, id)
  const key = scope.tier === 'tenant' ? 'tenant.user.remove' : 'project.member.remove'
  if (!may(state, by, key, scope) && by !== of) return no('may not remove')
  if (!isMember(state, of, id)) return no('no member')
  const stays = ownerStays(state, by, scope, of)
  if (stays) return against(stays)
  const below = scope.tier === 'tenant' ? projectsOf(state, id) : []
  return yes(() => {
    for (const each of [scope, ...below]) leave(state, of, each.id)
  })
}

const invite = (state: State, { by, scope: id, role: role_id, version, to }: MoveOf<'invite'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, into[scope.tier], scope)
  if (!first) return no('may neither invite nor assign')
  const found = assignable(state, scope, role_id, version)
  if ('allowed' in found) return found
  const judged = withinCeiling(state, first, scope, found.role.versions[found.version - 1]!)
  if (!judged) return against('ceiling')
  if (isSelfGrant(judged, to)) return against('override for oneself')
  if (isMember(state, to, scope.org)) {
    if (isMember(state, to, id)) return no('member already')
    return yes(() => {
      join(state, to, id)
      give(state, to, id, found.role, found.version)
    })
  }
  if (!may(state, by, 'tenant.user.invite', scope) && scope.tier === 'project') return against('may not invite into the organization')
  if (by === to) return against('override for oneself')
  if ([...state.invitations.values()].some((each) => each.scope === id && each.to === to && each.state === 'pending'))
    return no('invited already')
  return yes(
    (made) =>
      void state.invitations.set(made, {
        id: made,
        scope: id,
        to,
        role: role_id,
        version: found.version,
        inviter: by,
        state: 'pending',
      }),
  )
}

const withdraw = (state: State, { by, scope: id, invitation: invitation_id }: MoveOf<'withdraw'>): Verdict => {
  const scope = scopeIn(state, id)
  if (!grantor(state, by, into[scope.tier], scope)) return no('may neither invite nor assign')
  const invitation = state.invitations.get(invitation_id)
  if (invitation?.scope !== id || invitation.state !== 'pending') return no('no such invitation')
  return yes(() => {
    invitation.state = 'ended'
  })
}

/** What the inviter may still give. `lost`: not that any more, so the offer is void; `not now`: it waits on. */
const stillGiven = (state: State, { scope: id, to, role: role_id, version, inviter }: Invitation): 'lost' | 'not now' | Role => {
  const scope = scopeIn(state, id)
  const first = grantor(state, inviter, isMember(state, to, id) ? [`${scope.tier}.role.assign`] : into[scope.tier], scope)
  if (!first) return 'lost'
  if (scope.tier === 'project' && !isMember(state, to, scope.org) && !may(state, inviter, 'tenant.user.invite', scope)) return 'lost'
  const found = assignable(state, scope, role_id, version)
  if ('allowed' in found) return 'not now'
  const judged = withinCeiling(state, first, scope, found.role.versions[version - 1]!)
  if (!judged || isSelfGrant(judged, to)) return 'lost'
  return bindingIn(state, id, to, role_id) ? 'not now' : found.role
}

const accept = (state: State, { by, invitation: invitation_id }: MoveOf<'accept'>): Verdict => {
  const invitation = state.invitations.get(invitation_id)
  if (invitation?.to !== by) return no('no invitation to him')
  if (invitation.state !== 'pending') return no('not pending')
  const role = stillGiven(state, invitation)
  if (role === 'not now') return no(role)
  if (role === 'lost')
    return against('the inviter may not give it any more', () => {
      invitation.state = 'ended'
    })
  return yes(() => {
    join(state, by, scopeIn(state, invitation.scope).org)
    join(state, by, invitation.scope)
    give(state, by, invitation.scope, role, invitation.version)
    invitation.state = 'accepted'
  })
}

const upgrade = (state: State, move: MoveOf<'upgrade'>): Verdict => {
  const { by, scope: id, from, to } = move
  const scope = scopeIn(state, id)
  const power = state.upgrades_by
  const role = defined(state, move, power)
  if (typeof role === 'string') return no(role)
  if (!may(state, by, `${scope.tier}.role.read`, scope)) return no('may not look first')
  const [before, after] = [role.versions[from - 1], role.versions[to - 1]]
  if (from === to || !before || !after) return no('no such versions')
  if (role.state !== 'active') return against('takes no new binding')
  const judged = withinCeiling(state, grantor(state, by, [`${scope.tier}.role.${power}`], scope)!, scope, after)
  if (!judged) return against('ceiling')
  const moved = state.bindings.filter((each) => each.role === role.id && each.version === from)
  const isRicher = [...after].some((key) => !before.has(key))
  if (isRicher && moved.some(({ person }) => isSelfGrant(judged, person))) return against('override for oneself')
  return yes(() => {
    for (const binding of moved) binding.version = to
  })
}

const appoint = (state: State, { by, scope: id, to }: MoveOf<'appoint'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, ['tenant.project.appoint_owner'], scope)
  if (!first) return no('may not appoint')
  if (isSelfGrant(first, to)) return against('override for oneself')
  const role = ownerRole(state, scope)
  if (role.state !== 'active') return against('takes no new binding')
  if (ownersIn(state, id).length > 0) return against('owned')
  if (!isMember(state, to, scope.org)) return no('no member of the organization')
  return yes(() => {
    join(state, to, id)
    give(state, to, id, role, 1)
  })
}

/** A project begins with an owner, and so it cannot begin while that role is disabled. */
const foundProject = (state: State, { by, scope: id, slug, owner }: MoveOf<'found_project'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, ['tenant.project.create'], scope)
  if (!first) return no('may not create')
  const to = owner ?? by
  if (isSelfGrant(first, to)) return against('override for oneself')
  if (!isMember(state, to, id)) return no('no member of the organization')
  if (ownerRole(state, { id, name: slug, tier: 'project', org: id }).state !== 'active') return against('takes no new binding')
  return yes((made) => {
    const founded: Scope = { id: made, name: slug, tier: 'project', org: id }
    state.scopes.set(made, founded)
    state.members.set(made, new Set([to]))
    give(state, to, made, ownerRole(state, founded), 1)
  })
}

const makeAccount = (state: State, { by, scope: id }: MoveOf<'make_account'>): Verdict => {
  if (!may(state, by, 'project.service_account.manage', scopeIn(state, id))) return no('may not manage accounts')
  return yes((made) => void state.accounts.set(made, { id: made, scope: id, roles: [], holders: new Set() }))
}

const bindAccount = (state: State, { by, scope: id, role: role_id, account: account_id }: MoveOf<'bind_account'>): Verdict => {
  const scope = scopeIn(state, id)
  const first = grantor(state, by, ['project.role.assign', 'project.service_account.manage'], scope)
  if (!first) return no('may neither assign nor manage accounts')
  const found = assignable(state, scope, role_id, null)
  if ('allowed' in found) return found
  const { role, version } = found
  if (role.scope !== null || !accountRoles.includes(role.name)) return against('not for service accounts')
  const judged = withinCeiling(state, first, scope, role.versions[version - 1]!)
  if (!judged) return against('ceiling')
  const account = state.accounts.get(account_id)
  if (account?.scope !== id) return no('no such account')
  if (account.roles.some((each) => each.role === role_id)) return no('bound already')
  if (judged.is_override && account.holders.has(by)) return against('override for oneself')
  return yes(() => void account.roles.push({ role: role_id, version }))
}

/** Whoever has the key can be the account; override makes none. */
const makeKey = (state: State, { by, scope: id, account: account_id }: MoveOf<'make_key'>): Verdict => {
  const scope = scopeIn(state, id)
  if (!hasByRole(state, by, 'project.service_account.key.create', scope)) return no('may not make keys')
  const account = state.accounts.get(account_id)
  if (account?.scope !== id) return no('no such account')
  const own = ownKeys(state, by, id)
  const isWithin = own.has('project.role.assign_any') || [...accountKeys(state, account)].every((key) => own.has(key))
  return isWithin ? yes(() => void account.holders.add(by)) : against('ceiling of the account')
}

/** The rules, said once for each kind of call. */
export const judge = (state: State, move: Move): Verdict => {
  switch (move.kind) {
    case 'define':
      return define(state, move)
    case 'update':
      return update(state, move)
    case 'delete':
    case 'enable':
    case 'disable':
      return changeRole(state, move)
    case 'disable_builtin':
    case 'enable_builtin':
      return changeBuiltin(state, move)
    case 'bind':
      return bind(state, move)
    case 'end_binding':
      return endBinding(state, move)
    case 'add_member':
      return addMember(state, move)
    case 'remove_member':
      return removeMember(state, move)
    case 'invite':
      return invite(state, move)
    case 'withdraw':
      return withdraw(state, move)
    case 'accept':
      return accept(state, move)
    case 'upgrade':
      return upgrade(state, move)
    case 'appoint':
      return appoint(state, move)
    case 'found_project':
      return foundProject(state, move)
    case 'make_account':
      return makeAccount(state, move)
    case 'bind_account':
      return bindAccount(state, move)
    case 'make_key':
      return makeKey(state, move)
    case 'bind_platform':
      // Only superadmins hold the platform’s authority, and none of them makes this move.
      return no('no platform authority')
  }
}
