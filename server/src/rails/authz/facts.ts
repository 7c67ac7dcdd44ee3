import type { Actor, Work } from '#ground/work/work.ts'
import { type Constraint, zonesOf } from '../policies/constraint.ts'
import { readChains } from '../policies/constraint-chain.ts'
import type { RequestAttributes } from './attributes.ts'
import { defaultPlatformRole } from './catalogue.ts'
import type { DecisionInput } from './decide.ts'
import type { Place } from './kind.ts'
import { localTimes, noTimes } from './local-times.ts'
import { readStandingsOf } from './read-standings.ts'
import { heldAt, type Standing, standingOf, strangerRow } from './standing.ts'

export interface Facts extends DecisionInput {
  readonly standing: Standing
  /** The highest platform role, for the record. */
  readonly platform_role: string
  /** A stranger to the tenant may not learn what exists in it. */
  readonly may_know: boolean
}

/** Somebody of whom nothing is known: nothing that would allow anything. */
export const blank = (actor_id: string, is_disabled: boolean): Standing => standingOf(strangerRow(actor_id, is_disabled))

const noElevations: DecisionInput['elevations'] = []
const noRelations: DecisionInput['resource']['relations'] = new Set()

/** What a question says of itself: whose it is, what it is about, how it is described, and when it is asked. */
export interface Circumstances {
  readonly actor: Pick<Actor, 'type' | 'id' | 'token'>
  readonly place: Place
  readonly resource_type: string
  readonly attributes: RequestAttributes
  readonly now: string
}

/** Somebody of the tenant: a member, or a machine in its own project. */
export const isOfTenant = (standing: Standing): boolean =>
  standing.is_tenant_member ||
  (standing.home !== undefined && standing.is_project_member) ||
  // An operator knows its own tenant, and that it has one, also while its runtime is disabled.
  (typeof standing.home?.shared_runtime_id === 'string' && standing.tenant_state !== null)

/** A stranger to the tenant may not learn what exists in it; somebody of the platform may. */
export const mayKnow = (standing: Standing, now: string): boolean =>
  isOfTenant(standing) || heldAt(standing, now).platform_role !== defaultPlatformRole

/** The input of a decision, put together from what was read. */
export const factsOf = (
  standing: Standing,
  constraints: readonly Constraint[],
  { actor, place, resource_type, attributes, now }: Circumstances,
): Facts => {
  const { platform, tenant, project, platform_role } = heldAt(standing, now)
  const { tenant_id, project_id, shared_runtime_id = null, relations } = place
  return {
    actor: { id: actor.id, type: actor.type, is_disabled: standing.is_disabled },
    // A machine is bound to its home also where no token is shown, as when somebody asks about it.
    token: actor.token ?? standing.home ?? null,
    platform,
    tenant,
    project,
    resource: {
      type: resource_type,
      tenant_id,
      project_id,
      shared_runtime_id,
      relations: relations.length === 0 ? noRelations : new Set(relations),
    },
    now,
    elevations: noElevations,
    constraints,
    attributes,
    local_times: constraints.length === 0 ? noTimes : localTimes(attributes.time ?? now, zonesOf(constraints)),
    standing,
    platform_role,
    may_know: mayKnow(standing, now),
  }
}

/** An actor without a record counts as disabled. */
export const nobody = (actor: Pick<Actor, 'id'>): Standing => blank(actor.id, true)

/** How a request describes itself: what the connection tells. */
const attributesOf = ({ source_ip }: Work): RequestAttributes => (source_ip === null ? {} : { source_ip })

/** The facts of each place for the actor of a work, read in its own transaction, after whatever it has locked. */
export const readFactsIn = async (work: Work, resource_type: string, places: readonly Place[]): Promise<Facts[]> => {
  const { actor, tx, now } = work
  const known = await readStandingsOf(
    tx,
    actor.type,
    places.map(({ tenant_id, project_id }) => ({ actor_id: actor.id, tenant_id, project_id })),
  )
  const chains = await readChains(tx, places)
  return places.map((place, index) =>
    factsOf(known[index] ?? nobody(actor), chains[index]!, {
      actor,
      place,
      resource_type,
      attributes: { ...attributesOf(work), ...place.attributes },
      now,
    }),
  )
}

export const readFacts = async (work: Work, resource_type: string, place: Place): Promise<Facts> =>
  (await readFactsIn(work, resource_type, [place]))[0]!
