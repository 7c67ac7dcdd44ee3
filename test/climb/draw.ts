import type { Chance } from './chance.ts'
import { forbidden, grantable, type Tier } from './law.ts'
import { judge } from './model.ts'
import type { Move } from './moves.ts'
import { type Binding, type Invitation, isOwnerRole, ownersIn, projectsOf, type Role, roleIn, type State } from './state.ts'

/** Keys with which somebody gets further than with others. */
const levers: Readonly<Record<Tier, readonly string[]>> = {
  tenant: [
    'tenant.role.assign',
    'tenant.user.invite',
    'tenant.user.remove',
    'tenant.project.create',
    'tenant.billing.write',
    'tenant.read',
  ],
  project: ['project.role.assign', 'project.member.invite', 'project.member.remove', 'terminal.connect', 'storage.read'],
}

const drawKeys = (draw: Chance, tier: Tier): string[] => {
  const keys = draw.is(0.7) ? draw.some(levers[tier], 4) : draw.some(grantable(tier), 6)
  return draw.is(0.25) ? [...keys, draw.among(forbidden(tier))] : keys
}

/** How often each kind is drawn. */
const shares: readonly (readonly [Move['kind'], number])[] = [
  ['define', 2],
  ['update', 4],
  ['delete', 1],
  ['disable', 2],
  ['enable', 5],
  ['disable_builtin', 1],
  ['enable_builtin', 2],
  ['bind', 16],
  ['end_binding', 5],
  ['add_member', 9],
  ['remove_member', 3],
  ['invite', 8],
  ['withdraw', 2],
  ['accept', 8],
  ['upgrade', 6],
  ['appoint', 6],
  ['found_project', 2],
  ['make_account', 1],
  ['bind_account', 3],
  ['make_key', 4],
  ['bind_platform', 1],
]
const kinds = shares.flatMap(([kind, share]) => Array.from({ length: share }, () => kind))

/** A few who work together: they move most often, and mostly for each other. */
export interface Sides {
  readonly gang: readonly string[]
  readonly everybody: readonly string[]
}

const drawOne = (draw: Chance, state: State, { gang, everybody }: Sides, count: number): Move | undefined => {
  const waiting = [...state.invitations.values()].filter(({ state: now }) => now === 'pending')
  // An inviter who may not give any more what he offered is what accepting is for.
  const isOverdue = ({ id, to }: Invitation) => meaningOf(state, { kind: 'accept', by: to, invitation: id }) === 'rule'
  const overdue = draw.is(0.3) ? waiting.find(isOverdue) : undefined
  if (overdue) return { kind: 'accept', by: overdue.to, invitation: overdue.id }
  // So is, for enabling, a role that somebody who may do everything holds himself.
  const held = draw.is(0.08) ? [...state.roles.values()].filter(({ scope, is_deleted }) => scope !== null && !is_deleted) : []
  const heldBy = (role: Role) => state.bindings.find((each) => each.role === role.id && state.superadmins.has(each.person))?.person
  const own = held.find((role) => heldBy(role) !== undefined)
  if (own && own.state === 'active')
    return { kind: 'disable', by: draw.among(everybody), scope: own.scope!, role: own.id, mode: 'block_all_now' }
  if (own) return { kind: 'enable', by: heldBy(own)!, scope: own.scope!, role: own.id }

  const kind = waiting.length > 0 && draw.is(0.1) ? 'end_binding' : draw.among(kinds)
  const anybody = () => (draw.is(0.5) ? draw.among(gang) : draw.among(everybody))
  const scopes = [...state.scopes.values()]
  const here = draw.is(0.85) ? scopes.filter(({ org }) => org === scopes[0]!.org) : scopes
  // Who may do everything and also belongs somewhere is tempted to do it for himself there.
  const colleagues = draw.is(0.2)
    ? here.filter(({ id }) => [...state.superadmins].some((person) => state.members.get(id)!.has(person)))
    : []
  const scope = draw.among(colleagues.length > 0 ? colleagues : here)
  const tempted = colleagues.length > 0 ? [...state.superadmins].find((person) => state.members.get(scope.id)!.has(person)) : undefined
  const by = tempted ?? anybody()
  const inScope = [...state.roles.values()].filter((role) => role.scope === scope.id)
  const builtin = [...state.roles.values()].filter((role) => role.scope === null && role.tier === scope.tier)
  const anyRole = (): Role => {
    if (draw.is(0.06)) return draw.among([...state.roles.values()])
    return inScope.length > 0 && draw.is(0.5) ? draw.among(inScope) : draw.among(builtin)
  }
  const custom = (): Role | undefined => (draw.is(0.95) && inScope.length > 0 ? draw.among(inScope) : draw.among(builtin))
  const members = [...(state.members.get(scope.id) ?? [])]
  const member = () => (members.length > 0 && draw.is(0.8) ? draw.among(members) : anybody())
  const whom = () => (tempted || draw.is(0.25) ? by : anybody())
  const stranger = () => draw.among(everybody.filter((person) => !state.members.get(scope.org)!.has(person)))
  const versionOf = (role: Role) => (draw.is(0.5) ? null : 1 + draw.upTo(role.versions.length))
  const mode = draw.is(0.5) ? ('block_new_only' as const) : ('block_all_now' as const)
  const at = { by, scope: scope.id }

  switch (kind) {
    case 'define':
      return { kind, ...at, name: `role-${count}`, keys: drawKeys(draw, scope.tier) }
    case 'update': {
      const role = custom()
      const expected = role ? role.versions.length + (draw.is(0.1) ? 1 : 0) : 1
      return role && { kind, ...at, role: role.id, keys: drawKeys(draw, scope.tier), expected }
    }
    case 'delete': {
      const role = custom()
      return role && { kind, ...at, role: role.id }
    }
    case 'enable': {
      const disabled = inScope.filter(({ state: now, is_deleted }) => now !== 'active' && !is_deleted)
      const role = draw.is(0.9) ? (disabled.find(({ by_platform }) => by_platform) ?? disabled[0]) : custom()
      return role && { kind, ...at, role: role.id }
    }
    case 'disable': {
      const role = custom()
      return role && { kind, ...at, role: role.id, mode }
    }
    case 'disable_builtin': {
      const role = draw.among([...state.roles.values()].filter((each) => each.scope === null))
      return { kind, by, role: role.id, mode }
    }
    case 'enable_builtin': {
      const role = [...state.roles.values()].find((each) => each.scope === null && each.state !== 'active')
      return role && { kind, by, role: role.id }
    }
    case 'bind': {
      const end = draw.is(0.8) ? 'never' : draw.is(0.7) ? 'later' : 'past'
      const isOlder = ({ role, scope: where }: Binding) =>
        where === scope.id && versionsOf(state, role) > 1 && roleIn(state, scope, role)?.state === 'active'
      const older = draw.is(0.4) ? inState(draw, state, isOlder) : undefined
      if (older) return { kind, ...at, role: older.role, version: 1 + draw.upTo(versionsOf(state, older.role)), to: older.person, end }
      const role = anyRole()
      return { kind, ...at, role: role.id, version: versionOf(role), to: !tempted && draw.is(0.6) ? member() : whom(), end }
    }
    case 'end_binding': {
      // What an owner has, and what somebody has whose invitations still wait, matters more than the rest.
      const ofInviter = ({ person, scope: where }: Binding) =>
        waiting.some(({ inviter, scope: into }) => inviter === person && into === where)
      const weighty = draw.is(0.4)
        ? (inState(draw, state, ofInviter) ?? inState(draw, state, ({ role }) => isOwnerRole(state.roles.get(role)!)))
        : undefined
      const ended = weighty ?? inState(draw, state, ({ scope: where }) => where === scope.id)
      return ended && { kind, by, scope: ended.scope, role: ended.role, of: ended.person }
    }
    case 'add_member': {
      const role = draw.is(0.9) ? draw.among(builtin) : anyRole()
      if (scope.tier !== 'project') return undefined
      return { kind, ...at, role: role.id, to: whom() }
    }
    case 'remove_member':
      return { kind, ...at, of: draw.is(0.3) ? draw.among([...ownersIn(state, scope.id), by]) : draw.is(0.6) ? member() : whom() }
    case 'invite': {
      const role = anyRole()
      return { kind, ...at, role: role.id, version: versionOf(role), to: draw.is(0.5) ? stranger() : whom() }
    }
    case 'withdraw': {
      const all = [...state.invitations.values()]
      return all.length > 0
        ? { kind, by, scope: draw.is(0.9) ? draw.among(all).scope : scope.id, invitation: draw.among(all).id }
        : undefined
    }
    case 'accept': {
      const all = [...state.invitations.values()].filter(({ state: now }) => now === 'pending' || draw.is(0.1))
      if (all.length === 0) return undefined
      const invitation = draw.among(all)
      return { kind, by: draw.is(0.85) ? invitation.to : by, invitation: invitation.id }
    }
    case 'upgrade': {
      const own = inState(draw, state, (each) => each.person === tempted && each.scope === scope.id && versionsOf(state, each.role) > 1)
      const role = own ? state.roles.get(own.role) : custom()
      if (!role) return undefined
      const holders = state.bindings.filter((each) => each.role === role.id)
      const from = (holders.find(({ person }) => person === by) ?? holders[0])?.version ?? 1
      const newest = role.versions.length + (draw.is(0.1) ? 1 : 0)
      const others = Array.from({ length: newest }, (_, at) => at + 1).filter((version) => version !== from)
      return others.length > 0 ? { kind, ...at, role: role.id, from, to: draw.among(others) } : undefined
    }
    case 'appoint': {
      if (scope.tier !== 'project') return undefined
      const ownerless = projectsOf(state, scope.org).find(({ id }) => ownersIn(state, id).length === 0)
      // A project loses its last owner only with his membership of the organization.
      if (!ownerless && draw.is(0.5)) return { kind: 'remove_member', by, scope: scope.org, of: draw.among(ownersIn(state, scope.id)) }
      return { kind, by, scope: (ownerless ?? scope).id, to: draw.is(0.5) ? by : member() }
    }
    case 'found_project': {
      const slug = `project-${count}`
      return scope.tier === 'tenant' && scopes.length < 7 ? { kind, ...at, slug, owner: draw.is(0.5) ? null : member() } : undefined
    }
    case 'make_account':
      return scope.tier === 'project' && state.accounts.size < 4 ? { kind, ...at, slug: `robot-${count}` } : undefined
    case 'bind_account':
    case 'make_key': {
      if (state.accounts.size === 0) return undefined
      const account = draw.among([...state.accounts.values()])
      // Mostly where it is at home.
      const where = scope.tier === 'project' && draw.is(0.1) ? scope.id : account.scope
      if (kind === 'make_key') return { kind, by, scope: where, account: account.id }
      const projectRoles = [...state.roles.values()].filter(
        (role) => role.tier === 'project' && !role.is_deleted && (role.scope === null || role.scope === where),
      )
      return { kind, by, scope: where, role: draw.among(projectRoles).id, account: account.id }
    }
    case 'bind_platform': {
      const isSuperadmin = state.superadmins.has(by)
      return isSuperadmin ? undefined : { kind, by, to: whom(), role_name: draw.among(['platform_superadmin', 'platform_ops']) }
    }
  }
}

const inState = (draw: Chance, { bindings }: State, fits: (binding: Binding) => boolean): Binding | undefined => {
  const fitting = bindings.filter(fits)
  return fitting.length > 0 ? draw.among(fitting) : undefined
}
const versionsOf = (state: State, role: string): number => state.roles.get(role)!.versions.length

/** `rule`: nothing but a rule stops it. `dull`: any server would refuse it, for want of a key or a thing. */
type Meaning = 'allowed' | 'rule' | 'dull'
const meaningOf = (state: State, move: Move): Meaning => {
  const verdict = judge(state, move)
  if (verdict.allowed) return 'allowed'
  return verdict.is_rule ? 'rule' : 'dull'
}

/** The same move by somebody else for whom it means this, if there is one; seldom by those who may do everything. */
const byAnother = (draw: Chance, state: State, move: Move, wanted: readonly Meaning[]): Move => {
  const others = state.people.filter((person) => draw.is(0.3) || !state.superadmins.has(person)).map((by): Move => ({ ...move, by }))
  const fitting = others.filter((other) => wanted.includes(meaningOf(state, other)))
  return fitting.length > 0 ? draw.among(fitting) : move
}

/** How often a move is made once it is drawn. What is allowed leads further, what a rule stops is what the test is for. */
const shareOf = (state: State, move: Move): number => {
  const verdict = judge(state, move)
  if (verdict.allowed) return 0.6
  if (verdict.why === 'the last owner') return 0.3
  return verdict.is_rule ? 1 : 0.1
}

export const drawMove = (draw: Chance, state: State, sides: Sides, count: number): Move => {
  for (let attempt = 0; ; attempt += 1) {
    const drawn = drawOne(draw, state, sides, count)
    if (!drawn) continue
    if (drawn.kind === 'bind_platform') return drawn
    const isDull = meaningOf(state, drawn) === 'dull'
    const tempting = draw.is(0.35) ? byAnother(draw, state, drawn, ['rule']) : drawn
    const move = isDull && draw.is(0.6) ? byAnother(draw, state, tempting, ['allowed', 'rule']) : tempting
    if (attempt >= 8 || draw.is(shareOf(state, move))) return move
  }
}
