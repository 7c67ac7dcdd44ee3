import { setTimeout as sleep } from 'node:timers/promises'
import { keysOf } from './law.ts'
import type { Move } from './moves.ts'
import { isMember, may, ownKeys, type Scope, type State } from './state.ts'
import type { Tried } from './world.ts'

export type Seen = Map<string, ReadonlySet<string>>
const at = (person: string, scope: string): string => `${person} ${scope}`

/** What the server itself says that somebody may do in a scope, of the keys that are judged there. */
const look = async (tried: Tried, person: string, scope: Scope, tries = 10): Promise<ReadonlySet<string>> => {
  const { live, url } = tried
  const { id, tier } = scope
  const place = tier === 'tenant' ? `org_id=${id}` : `project_id=${id}`
  const { status, body, text } = await live.call(person, 'GET', `/api/v1/me/permissions?${place}`, {}, url)
  // Everybody looks at once: on a busy machine some come too late, which says nothing of what they may do.
  if (status === 503 && tries > 0) {
    await sleep(100)
    return look(tried, person, scope, tries - 1)
  }
  if (status === 404) return new Set()
  if (status !== 200) throw new Error(`${person} asked what he may do: ${status} ${text}`)
  const judged = new Set(keysOf[tier])
  return new Set((body.permissions as string[]).filter((key) => judged.has(key)))
}

export const expected = (state: State, person: string, scope: Scope): ReadonlySet<string> =>
  new Set(keysOf[scope.tier].filter((key) => may(state, person, key, scope)))

export const expectedEverywhere = (state: State): Seen =>
  new Map(everywhere(state).map(([person, scope]) => [at(person, scope.id), expected(state, person, scope)]))

export type Spot = readonly [person: string, scope: Scope]
const everywhere = (state: State): Spot[] =>
  state.people.flatMap((person) => [...state.scopes.values()].map((scope): Spot => [person, scope]))

/** Whoever belongs to nothing of a tenant holds nothing there: the rows say so, and need not be asked about one by one. */
export const everywhereKnown = (state: State): Spot[] =>
  everywhere(state).filter(([person, { org }]) => isMember(state, person, org) || state.superadmins.has(person))

/** Where a move that was allowed could have changed something. */
export const touchedBy = (state: State, move: Move): Spot[] => {
  switch (move.kind) {
    case 'disable_builtin':
    case 'enable_builtin':
      return everywhere(state).filter(([person, { id }]) => isMember(state, person, id))
    case 'found_project':
      return [...state.scopes.values()].filter(({ name }) => name === move.slug).map((scope): Spot => [move.owner ?? move.by, scope])
    case 'remove_member':
      return everywhere(state).filter(([person]) => person === move.of)
    case 'accept':
      return everywhere(state).filter(([person]) => person === move.by)
    case 'bind_platform':
      return everywhere(state).filter(([person]) => person === move.to)
    case 'bind':
    case 'add_member':
    case 'invite':
    case 'appoint':
      return [[move.to, state.scopes.get(move.scope)!]]
    case 'end_binding':
      return [[move.of, state.scopes.get(move.scope)!]]
    case 'withdraw':
    case 'make_account':
    case 'bind_account':
    case 'make_key':
      return []
    case 'define':
      return []
    default: {
      const scope = state.scopes.get(move.scope)!
      return state.bindings
        .filter((each) => each.role === move.role && each.scope === move.scope)
        .map(({ person }): Spot => [person, scope])
    }
  }
}

const without = (keys: ReadonlySet<string>, others: ReadonlySet<string>): string[] => [...keys].filter((key) => !others.has(key))

const told = ([person, scope]: Spot, keys: readonly string[]): string[] =>
  keys.length > 0 ? [`${person} in ${scope.name}: ${keys.join(' ')}`] : []

/** Who gave, in whose name the gain must be accounted for. */
interface Giver {
  readonly move: Move
  readonly person: string
  /** His own keys in the scope before the move, without override. */
  readonly own: ReadonlySet<string>
  readonly is_superadmin: boolean
}
export const giverOf = (state: State, move: Move): Giver => {
  const invitation = move.kind === 'accept' ? state.invitations.get(move.invitation) : undefined
  const person = invitation?.inviter ?? move.by
  const scope = invitation?.scope ?? ('scope' in move ? move.scope : '')
  const place = move.kind === 'appoint' ? state.scopes.get(scope)!.org : scope
  return { move, person, own: ownKeys(state, person, place), is_superadmin: state.superadmins.has(person) }
}

const grants = new Set<Move['kind']>(['bind', 'add_member', 'invite', 'accept', 'upgrade'])
const gives = new Set<Move['kind']>([...grants, 'appoint', 'found_project', 'enable', 'enable_builtin'])

/**
 * Whether somebody's gain is accounted for by what its giver was seen to hold before. This asks nothing of the model but what
 * a superadmin holds by his own roles, which no look through the API can tell apart.
 */
const isAccounted = (seen: Seen, { move, ...giver }: Giver, [person, scope]: Spot, gained: readonly string[]): boolean => {
  if (!gives.has(move.kind)) return false
  if (giver.is_superadmin && giver.person !== person) return true
  const held = (place: string) => (giver.is_superadmin ? giver.own : (seen.get(at(giver.person, place)) ?? new Set<string>()))
  if (grants.has(move.kind)) {
    const own = held(scope.id)
    return own.has(`${scope.tier}.role.assign_any`) || gained.every((key) => own.has(key))
  }
  if (move.kind === 'appoint') return held(scope.org).has('tenant.project.appoint_owner')
  if (move.kind === 'found_project') return held(scope.org).has('tenant.project.create')
  // What comes back was given once, by somebody who could; the product's own roles come back for everybody alike.
  return move.kind === 'enable_builtin' ? giver.is_superadmin : held(scope.id).has(`${scope.tier}.role.define`)
}

export interface Looked {
  /** Keys that nobody could have given. */
  readonly climbs: readonly string[]
  /** What was seen and the rules do not say, and the other way round. */
  readonly excesses: readonly string[]
  readonly lacks: readonly string[]
}

/** Looks at these places again, and keeps what was seen. */
export const lookAgain = async (tried: Tried, state: State, seen: Seen, spots: readonly Spot[], giver: Giver | null): Promise<Looked> => {
  const found = await Promise.all(spots.map(([person, scope]) => look(tried, person, scope)))
  const before: Seen = new Map(seen)
  const climbs = spots.flatMap((spot, index): string[] => {
    const [person, scope] = spot
    const gained = without(found[index]!, before.get(at(person, scope.id)) ?? new Set())
    if (gained.length === 0 || (giver && isAccounted(before, giver, spot, gained))) return []
    return [`${person} gained ${gained.join(' ')} in ${scope.name}`]
  })
  for (const [index, [person, scope]] of spots.entries()) seen.set(at(person, scope.id), found[index]!)
  const wanted = spots.map(([person, scope]) => expected(state, person, scope))
  return {
    climbs,
    excesses: spots.flatMap((spot, index) => told(spot, without(found[index]!, wanted[index]!))),
    lacks: spots.flatMap((spot, index) => told(spot, without(wanted[index]!, found[index]!))),
  }
}
