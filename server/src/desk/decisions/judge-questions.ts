import type { FreshReader, Wanted } from '#ground/epochs/fresh.ts'
import { type Moment, revisionOf } from '#ground/epochs/moment.ts'
import type { Relation } from '#rails/authz/actions.ts'
import { requireAllowed } from '#rails/authz/authorize.ts'
import { defaultPlatformRole } from '#rails/authz/catalogue.ts'
import { type Decision, decide } from '#rails/authz/decide.ts'
import { type Facts, factsOf, isOfTenant, mayKnow } from '#rails/authz/facts.ts'
import { nowhere, thePlatform } from '#rails/authz/kind.ts'
import { wantStanding } from '#rails/authz/read-standings.ts'
import { heldAt, type Standing } from '#rails/authz/standing.ts'
import type { Asker } from '#rails/http/answer.ts'
import type { Constraint } from '#rails/policies/constraint.ts'
import { wantChain } from '#rails/policies/constraint-chain.ts'
import type { AskedActor, PlacedQuestion } from './question.ts'
import { wantRelations } from './relations.ts'
import { everything, isAllowed, isThere, type Readable, readableTo, rulesReadableTo, standingIn, unseen, veiled } from './veil.ts'

export interface Judged {
  readonly asked: PlacedQuestion
  readonly facts: Facts
  readonly decision: Decision
  /** The scopes whose roles the caller may read, and those whose rules. */
  readonly readable: Readable
  readonly rules: () => Readable
  /** How the caller stands there. */
  readonly callers: Standing
}

export const isCaller = (caller: AskedActor, actor: AskedActor) => caller.type === actor.type && caller.id === actor.id

/** How an actor stands in the place of a question. */
const wantOf = (actor: AskedActor, { place: { tenant_id, project_id } }: PlacedQuestion) =>
  wantStanding(actor.type, { actor_id: actor.id, tenant_id, project_id })

const selfRelation = ['self'] as const

/** The tenant that a machine lives in: wherever it is asked about, what is said of it rests on that. */
const homeOf = (standing: Standing | undefined): string | null => standing?.home?.tenant_id ?? null

/** A question, and where among what was read that stands on which it rests; `theirs` where it is about somebody else. */
interface Ground {
  readonly asked: PlacedQuestion
  readonly callers: number
  readonly theirs: number | null
  readonly constraints: number
  /** How the actor stands to the resource, as far as the question itself does not say it. */
  readonly relations: number | null
}

const noRules: readonly Constraint[] = []
const noRelations: readonly Relation[] = []

/** All that was read for some questions, true at one moment. */
const groundOf = (values: readonly unknown[]) => ({
  standing: (index: number | null) => (index === null ? undefined : (values[index] as Standing | undefined)),
  constraints: (index: number) => (values[index] ?? noRules) as readonly Constraint[],
  relations: (index: number | null) => (index === null ? noRelations : ((values[index] ?? noRelations) as readonly Relation[])),
})
type Read = ReturnType<typeof groundOf>

/** Reads it: of each question the standings, the rules and the relations. */
const readFor = async (caller: AskedActor, fresh: FreshReader, questions: readonly PlacedQuestion[]) => {
  const wanted: Wanted<unknown>[] = []
  const wants = (one: Wanted<unknown> | null): number | null => (one ? wanted.push(one) - 1 : null)
  const grounds = questions.map(
    (asked): Ground => ({
      asked,
      callers: wants(wantOf(caller, asked))!,
      theirs: wants(isCaller(caller, asked.actor) ? null : wantOf(asked.actor, asked)),
      constraints: wants(wantChain(asked.place))!,
      relations: wants(wantRelations(asked)),
    }),
  )
  const { moment, values } = await fresh.read(wanted)
  const homes = untoldHomes(grounds, groundOf(values), moment)
  if (homes.length === 0) return { moment, grounds, read: groundOf(values) }
  // A machine never moves: what is read once more, now with its home, is of the same homes.
  const again = await fresh.read([...wanted, ...homes.map((tenant_id) => wantChain({ tenant_id, project_id: null }))])
  return { moment: again.moment, grounds, read: groundOf(again.values) }
}

const none: string[] = []

/** Where the machines live that are asked about away from home. Only who may know of every tenant is told by the revision what moved there. */
const untoldHomes = (grounds: readonly Ground[], { standing }: Read, { now, epochs }: Moment): string[] => {
  const callers = standing(grounds[0]!.callers)
  if (!callers || !grounds.some(({ theirs }) => standing(theirs)?.home)) return none
  if (heldAt(callers, now).platform_role === defaultPlatformRole) return none
  const homes = new Set(grounds.map(({ theirs }) => homeOf(standing(theirs))))
  return [...homes].filter((tenant_id) => tenant_id !== null && !epochs.has(tenant_id)) as string[]
}

/** Answers all questions from the facts of one moment, each told as it is wanted. Throws where the caller may not ask. */
export const judgeQuestions = async <Told>(
  { actor: caller, fresh, trail, source_ip, turns, paidBy }: Asker,
  questions: readonly PlacedQuestion[],
  tell: (judged: Judged) => Told,
  /** Says of a refusal which of several questions it is about. */
  named: (refused: unknown, index: number) => unknown = (refused) => refused,
): Promise<{ revision: string; told: Told[] }> => {
  const { moment, grounds, read } = await readFor(caller, fresh, questions)
  const { now } = moment
  let hasAskedAboutSelf = false
  // How often a tenant of strangers changed is nobody's business, nor that there is one.
  const known: string[] = []
  /** Whose time it takes: that of the tenant whose rules are judged; a stranger there, and who is of the platform, uses their own, or their home's. */
  const payer = ({ asked: { place }, callers }: Ground): string =>
    place.tenant_id !== null && isOfTenant(standingIn(caller, read.standing(callers)))
      ? place.tenant_id
      : (caller.home_tenant_id ?? caller.id)
  const judgeOne = (ground: Ground): Told => {
    const { asked } = ground
    const { actor, action, resource_type, attributes } = asked
    const constraints = read.constraints(ground.constraints)
    const relations = read.relations(ground.relations)
    const place = relations.length === 0 ? asked.place : { ...asked.place, relations: [...asked.place.relations, ...relations] }
    const isSelf = isCaller(caller, actor)
    let callers = standingIn(caller, read.standing(ground.callers))
    if (place.tenant_id !== null && mayKnow(callers, now)) known.push(place.tenant_id)
    else callers = unseen(callers, now)
    let standing = callers
    let readable = everything
    // As the caller really asks, whatever the question says of the request.
    const asCaller = () =>
      factsOf(callers, constraints, {
        ...{ actor: caller, place: { ...place, relations: [] }, resource_type: asked.kind.type, attributes: { source_ip }, now },
      })
    if (!isSelf) {
      const facts = asCaller()
      readable = readableTo(facts, isAllowed('platform.authz.evaluate', facts))
      // Whoever may ask about everything is told what holds nowhere, too.
      const is_there = readable.global || isThere(asked, callers)
      // The record of a refusal names the place where the caller may not ask, not the thing they asked about.
      const judged = { ...place, id: asked.said.project_id ?? asked.said.tenant_id ?? thePlatform.id }
      requireAllowed(trail, { alternatives: asked.asking, kind: asked.kind, place: judged, is_there }, facts)
      const theirs = read.standing(ground.theirs)
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
    // A caller who asks about themselves asks with the token that they show.
    const whose = isSelf ? caller : actor
    // The server knows the caller's own address; where another actor would ask from, nobody knows.
    const isOpen = isSelf && constraints.length > 0 && attributes.source_ip === undefined
    const described = isOpen ? { ...attributes, source_ip } : attributes
    const facts = factsOf(standing, constraints, { actor: whose, place, resource_type, attributes: described, now })
    return tell({
      asked,
      facts,
      decision: decide(action, facts),
      readable,
      callers,
      rules: () => rulesReadableTo(asCaller()),
    })
  }
  const [first] = grounds
  if (first) paidBy(payer(first))
  const told = await turns.each(grounds, fresh.limit_ms, payer, (ground) => {
    try {
      return judgeOne(ground)
    } catch (error) {
      throw named(error, grounds.indexOf(ground))
    }
  })
  return { revision: revisionOf(moment, known), told }
}
