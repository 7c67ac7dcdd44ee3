import { type Chance, chance } from './chance.ts'
import { drawMove, type Sides } from './draw.ts'
import { judge } from './model.ts'
import type { Move } from './moves.ts'
import { madeBy, send, told } from './send.ts'
import type { State } from './state.ts'
import { everywhereKnown, expected, expectedEverywhere, giverOf, type Looked, lookAgain, type Seen, touchedBy } from './watch.ts'
import { newWorld, rowsExpected, rowsOf, type Tried } from './world.ts'

/**
 * `climb`: somebody has what nobody could have given him. `allowed`, `refused`: the answer was not that of the rules. `excess`, `lack`:
 * somebody holds more or less than the rules say. `broken`: no answer that is documented.
 */
type FindingKind = 'climb' | 'allowed' | 'refused' | 'excess' | 'lack' | 'broken'

/** Something that the rules do not allow, and how it came about. */
export interface Finding {
  readonly seed: number
  readonly kinds: readonly FindingKind[]
  readonly what: readonly string[]
  /** What was done until then and not refused. */
  readonly done: readonly string[]
}

/** How often moves of each kind were allowed, and how often each reason stood against one: what was never met was not tried. */
export type Tally = Map<string, number>

const isRefusal = (status: number): boolean => [400, 403, 404, 409].includes(status)

/** One world, and what has been done in it. */
const sequence = async (tried: Tried, seed: number, tally: Tally) => {
  const state = await newWorld(tried)
  const seen: Seen = expectedEverywhere(state)
  const done: string[] = []

  const finding = (kinds: Finding['kinds'], what: readonly string[]): Finding => ({ seed, kinds, what, done: [...done] })

  /** Makes a move and judges the answer. */
  const make = async (move: Move): Promise<Finding | undefined> => {
    const verdict = judge(state, move)
    const giver = giverOf(state, move)
    const text = told(state, move)
    const answer = await send(tried, state, move)
    const isAllowed = answer.status < 300
    if (isAllowed) done.push(text)
    const said = `${text} → ${answer.status}${isAllowed ? '' : ` ${answer.body?.code}`}`
    if (!isAllowed && !isRefusal(answer.status)) return finding(['broken'], [said])
    const met = verdict.allowed ? move.kind : verdict.why
    tally.set(met, (tally.get(met) ?? 0) + 1)
    if (isAllowed && !verdict.allowed) {
      // Whatever it gave was given by nobody who could, if it gave anything.
      const { climbs } = await lookAgain(tried, state, seen, touchedBy(state, move), giver)
      return finding(climbs.length > 0 ? ['allowed', 'climb'] : ['allowed'], [`${said}, but: ${verdict.why}`, ...climbs])
    }
    if (!isAllowed && verdict.allowed) return finding(['refused'], [`${said} ${JSON.stringify(answer.body)}`])
    verdict.apply?.(isAllowed ? madeBy(move, answer) : '')
    if (!isAllowed) return undefined
    if (move.kind === 'found_project') founded(state, seen)
    return different(said, await lookAgain(tried, state, seen, touchedBy(state, move), giver))
  }
  const different = (said: string, { climbs, excesses, lacks }: Looked): Finding | undefined => {
    const found = { climb: climbs, excess: excesses, lack: lacks }
    const kinds = (['climb', 'excess', 'lack'] as const).filter((kind) => found[kind].length > 0)
    return kinds.length > 0 ? finding(kinds, [said, ...kinds.flatMap((kind) => found[kind])]) : undefined
  }

  /** Everybody, everywhere, and the rows beneath. */
  const judgeEverything = async (): Promise<Finding | undefined> => {
    const { climbs, excesses, lacks } = await lookAgain(tried, state, seen, everywhereKnown(state), null)
    const [found, wanted] = [await rowsOf(tried, state), rowsExpected(state)]
    return different('in the end', {
      climbs,
      excesses: [...excesses, ...found.filter((row) => !wanted.includes(row)).map((row) => `a row too many: ${row}`)],
      lacks: [...lacks, ...wanted.filter((row) => !found.includes(row)).map((row) => `no row: ${row}`)],
    })
  }
  return { state, make, judgeEverything }
}
type Sequence = Awaited<ReturnType<typeof sequence>>

/** The override of those who may do everything reaches what has just been founded, too. */
const founded = (state: State, seen: Seen): void => {
  const scope = [...state.scopes.values()].at(-1)!
  for (const person of state.superadmins) seen.set(`${person} ${scope.id}`, expected(state, person, scope))
}

/** Roles with a rich version and a poor one, held by somebody, so that a sequence need not begin with nothing. */
const prelude = function* (draw: Chance, { scopes, roles, invitations, accounts }: State): Generator<Move> {
  const [north, mill] = [...scopes.values()].map(({ id }) => id) as [string, string]
  const made = (name: string) => [...roles.values()].find((role) => role.name === name)!.id
  const rich = { north: ['tenant.read', 'tenant.billing.write', 'tenant.user.invite'], mill: ['allocation.read', 'project.role.assign'] }
  const poor = { north: ['tenant.read', 'tenant.user.invite'], mill: ['allocation.read', 'project.member.invite'] }
  const [first, second] = draw.is(0.5) ? [rich, poor] : [poor, rich]
  const owners = { north: 'alice', mill: 'amara' }
  for (const [place, scope] of [['north', north] as const, ['mill', mill] as const]) {
    const at = { by: owners[place], scope }
    yield { kind: 'define', ...at, name: `first-${place}`, keys: first[place] }
    yield { kind: 'update', ...at, role: made(`first-${place}`), keys: second[place], expected: 1 }
    yield { kind: 'bind', ...at, role: made(`first-${place}`), version: 1, to: draw.among(['anna', 'asha']), end: 'never' }
  }
  // An account that can do something, and somebody who makes keys and cannot do all of it himself.
  yield { kind: 'make_account', by: 'amara', scope: mill, slug: 'robot' }
  const [account] = [...accounts.keys()]
  yield { kind: 'bind_account', by: 'amara', scope: mill, role: made('project_member'), account: account! }
  const keys = ['project.service_account.key.create', 'project.service_account.manage', 'storage.read']
  yield { kind: 'define', by: 'amara', scope: mill, name: 'keymaker', keys }
  yield { kind: 'bind', by: 'amara', scope: mill, role: made('keymaker'), version: 1, to: 'anna', end: 'never' }
  const anotherOwner = { role: made('tenant_owner'), version: null, end: 'never' } as const
  if (draw.is(0.5)) yield { kind: 'bind', by: 'alice', scope: north, ...anotherOwner, to: 'arne' }
  if (draw.is(0.5)) yield { kind: 'bind', by: 'amara', scope: mill, ...anotherOwner, role: made('project_owner'), to: 'asha' }
  // A superadmin who is somebody's colleague, by the hand of another.
  if (draw.is(0.4)) return
  yield { kind: 'invite', by: 'grace', scope: north, role: made(draw.among(['first-north', 'tenant_admin'])), version: 1, to: 'ada' }
  yield { kind: 'accept', by: 'ada', invitation: [...invitations.keys()][0]! }
}

const play = async ({ state, make, judgeEverything }: Sequence, draw: Chance, moves: number): Promise<Finding | undefined> => {
  for (const move of prelude(draw, state)) {
    const found = await make(move)
    if (found) return found
  }
  const sides: Sides = { gang: draw.some(state.people, 3), everybody: state.people }
  for (let count = 1; count <= moves; count += 1) {
    const found = await make(drawMove(draw, state, sides, count))
    if (found) return found
  }
  return judgeEverything()
}

/** The product's own roles belong to all worlds, so each leaves them as it found them. */
const putBack = async ({ live }: Tried, { roles }: State): Promise<void> => {
  for (const { id, scope, state } of roles.values())
    if (scope === null && state !== 'active')
      await live.call('ada', 'POST', `/api/v1/admin/roles/${id}/enable`, { body: { reason: 'put back' } })
}

export const runSequence = async (tried: Tried, seed: number, moves: number, tally: Tally = new Map()): Promise<Finding | undefined> => {
  const begun = await sequence(tried, seed, tally)
  try {
    return await play(begun, chance(seed), moves)
  } finally {
    await putBack(tried, begun.state)
  }
}

/** Whether somebody got what the rules do not give him; what is refused or lacking hurts nobody else. */
export const isClimb = ({ kinds }: Finding): boolean => kinds.some((kind) => ['climb', 'allowed', 'excess'].includes(kind))
