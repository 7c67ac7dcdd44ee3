import type { Relation } from '../authz/actions.ts'
import { requireAllowed } from '../authz/authorize.ts'
import { defaultPlatformRole } from '../authz/catalogue.ts'
import { type Decision, decide } from '../authz/decide.ts'
import { type Facts, factsOf, mayKnow } from '../authz/facts.ts'
import { nowhere } from '../authz/kind.ts'
import { wantStanding } from '../authz/read-standings.ts'
import { heldAt, type Standing } from '../authz/standing.ts'
import type { FreshReader, Known, Wanted } from '../epochs/fresh.ts'
import { type Moment, revisionOf } from '../epochs/moment.ts'
import type { Asker } from '../http/answer.ts'
import type { Constraint } from '../policies/constraint.ts'
import { wantChain } from '../policies/constraint-chain.ts'
import { inTurns } from './in-turns.ts'
import type { AskedActor, PlacedQuestion } from './question.ts'
import { wantRelations } from './relations.ts'
import { everything, isAllowed, isThere, type Readable, readableTo, rulesReadableTo, standingIn, unseen, veiled } from './veil.ts'

export interface Judged {
  readonly asked: PlacedQuestion
  readonly facts: Facts
  readonly decision: Decision
  /** The scopes whose roles the caller may read, and those whose rules. */
  readonly readable: Readable
  readonly rules: Readable
  /** How the caller himself stands there. */
  readonly callers: Standing
}

export const isCaller = (caller: AskedActor, actor: AskedActor) => caller.type === actor.type && caller.id === actor.id

/** How an actor stands in the place of a question. */
const wantOf = (actor: AskedActor, { place: { tenant_id, project_id } }: PlacedQuestion) =>
  wantStanding(actor.type, { actor_id: actor.id, tenant_id, project_id })

const selfRelation = ['self'] as const

/** The tenant that a machine lives in: wherever it is asked about, what is said of it rests on that. */
const homeOf = (standing: Standing | undefined): string | null => standing?.home?.tenant_id ?? null

/** A question and what it rests on; where it is about the caller himself, `theirs` is nobody's. */
interface Ground {
  readonly asked: PlacedQuestion
  readonly callers: Standing | undefined
  readonly theirs: Standing | undefined
  readonly constraints: readonly Constraint[]
  /** How the actor stands to the resource, as far as the question itself does not say it. */
  readonly relations: readonly Relation[]
}
const none: readonly Relation[] = []

/** All that these questions rest on, true at one moment: of each the standings and the rules. */
const readFor = async (caller: AskedActor, fresh: FreshReader, questions: readonly PlacedQuestion[]) => {
  const wanted: Wanted<unknown>[] = []
  const wants = (one: Wanted<unknown>): number => wanted.push(one) - 1
  const maybeWants = (one: Wanted<unknown> | null): number | null => (one ? wants(one) : null)
  const places = questions.map((asked) => ({
    asked,
    callers: wants(wantOf(caller, asked)),
    theirs: maybeWants(isCaller(caller, asked.actor) ? null : wantOf(asked.actor, asked)),
    constraints: wants(wantChain(asked.place)),
    relations: maybeWants(wantRelations(asked)),
  }))
  const groundsIn = ({ moment, values }: Known<Wanted<unknown>[]>) => ({
    moment,
    grounds: places.map(
      ({ asked, callers, theirs, constraints, relations }): Ground => ({
        asked,
        callers: values[callers] as Standing | undefined,
        theirs: theirs === null ? undefined : (values[theirs] as Standing | undefined),
        constraints: (values[constraints] ?? []) as readonly Constraint[],
        relations: relations === null ? none : ((values[relations] ?? none) as readonly Relation[]),
      }),
    ),
  })
  const known = groundsIn(await fresh.read(wanted))
  const homes = untoldHomes(known.grounds, known.moment)
  if (homes.length === 0) return known
  // A machine never moves: what is read once more, now with its home, is of the same homes.
  return groundsIn(await fresh.read([...wanted, ...homes.map((tenant_id) => wantChain({ tenant_id, project_id: null }))]))
}

/** Where the machines live that are asked about away from home. Only who may know of every tenant is told by the revision what moved there. */
const untoldHomes = (grounds: readonly Ground[], { now, epochs }: Moment): string[] => {
  const { callers } = grounds[0]!
  if (!callers || !grounds.some(({ theirs }) => theirs?.home) || heldAt(callers, now).platform_role === defaultPlatformRole) return []
  const homes = new Set(grounds.map(({ theirs }) => homeOf(theirs)))
  return [...homes].filter((tenant_id) => tenant_id !== null && !epochs.has(tenant_id)) as string[]
}

/** Answers all questions from the facts of one moment, each told as it is wanted. Throws where the caller may not ask. */
export const judgeQuestions = async <Told>(
  { actor: caller, fresh, trail, source_ip }: Asker,
  questions: readonly PlacedQuestion[],
  tell: (judged: Judged) => Told,
): Promise<{ revision: string; told: Told[] }> => {
  const { moment, grounds } = await readFor(caller, fresh, questions)
  const { now } = moment
  let hasAskedAboutSelf = false
  // How often a tenant of strangers changed is nobody's business, nor that there is one.
  const known: string[] = []
  const told = await inTurns(grounds, ({ asked, theirs, constraints, relations, callers: found }) => {
    const { actor, action, resource_type, attributes } = asked
    const place = relations.length === 0 ? asked.place : { ...asked.place, relations: [...asked.place.relations, ...relations] }
    const isSelf = isCaller(caller, actor)
    let callers = standingIn(caller, found)
    if (place.tenant_id !== null && mayKnow(callers, now)) known.push(place.tenant_id)
    else callers = unseen(callers, now)
    let standing = callers
    let readable = everything
    // As he really asks, whatever he says of the request.
    const asCaller = () =>
      factsOf(callers, constraints, {
        ...{ actor: caller, place: { ...place, relations: [] }, resource_type: asked.kind.type, attributes: { source_ip }, now },
      })
    if (!isSelf) {
      const facts = asCaller()
      readable = readableTo(facts, isAllowed('platform.authz.evaluate', facts))
      // Whoever may ask about everything is told what holds nowhere, too.
      const is_there = readable.global || isThere(asked, callers)
      requireAllowed(trail, { alternatives: asked.asking, kind: asked.kind, place, is_there }, facts)
      standing = readable.global ? standingIn(actor, theirs) : veiled(actor, asked, theirs, facts)
      const home = readable.global ? homeOf(standing) : null
      if (home !== null) known.push(home)
    } else if (!hasAskedAboutSelf) {
      const self = { ...nowhere, id: caller.id, relations: selfRelation }
      const facts = factsOf(callers, [], { actor: caller, place: self, resource_type: asked.kind.type, attributes: { source_ip }, now })
      const kind = { type: caller.type, missing: 'user_not_found' } as const
      requireAllowed(trail, { alternatives: ['me.read'], kind, place: self, is_there: true }, facts)
      hasAskedAboutSelf = true
    }
    // Whoever asks about himself asks with the token that he shows.
    const whose = isSelf ? caller : actor
    // Of where he asks from he need not tell; where somebody else would ask from, nobody knows.
    const isOpen = isSelf && constraints.length > 0 && attributes.source_ip === undefined
    const described = isOpen ? { ...attributes, source_ip } : attributes
    const facts = factsOf(standing, constraints, { actor: whose, place, resource_type, attributes: described, now })
    return tell({
      asked,
      facts,
      decision: decide(action, facts),
      readable,
      callers,
      get rules() {
        return rulesReadableTo(asCaller())
      },
    })
  })
  return { revision: revisionOf(moment, known), told }
}
