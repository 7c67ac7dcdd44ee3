import type { Question } from '@gatehouse/contract/decisions'
import type { FreshReader, Source } from '#ground/epochs/fresh.ts'
import { want } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { type Action, actions } from '#rails/authz/actions.ts'
import type { Kind, Place } from '#rails/authz/kind.ts'
import { type NamedPlace, tenantsKnown } from './decision-queries.ts'

export type AskedActor = { readonly type: NonNullable<Question['actor']>['type']; readonly id: string }

/** A question, read: whose it is, what is asked, and where it lies. */
export interface PlacedQuestion {
  readonly actor: AskedActor
  readonly action: Action
  readonly resource_type: string
  /** The place as the question names it, whether or not there is one. */
  readonly said: Pick<Place, 'tenant_id' | 'project_id'>
  readonly place: Place
  readonly attributes: NonNullable<Question['attributes']>
  /** What must be allowed to whoever asks about somebody else. */
  readonly asking: readonly Action[]
  readonly kind: Pick<Kind<never>, 'type' | 'missing'>
}

/** Which tenant a place lies in that the caller may know of. That there is none, or none for them, is not kept. */
interface KnownPlace {
  readonly tenant_id: string
  readonly is_inside: boolean
}
const knownPlaces: Source<NamedPlace, KnownPlace> = {
  name: 'known place',
  textOf: ({ actor_id, tenant_id, project_id }) => `${actor_id} ${tenant_id} ${project_id}`,
  tenantOf: () => null,
  load: async (tx, places) => {
    const found: (KnownPlace | undefined)[] = places.map(() => undefined)
    for (const { n, tenant_id, is_inside } of await tx.many(tenantsKnown(places)))
      if (tenant_id !== null) found[n - 1] = { tenant_id, is_inside }
    return found
  },
}

/**
 * The tenant of the place that a path names, if its caller is of that tenant. An operator of the platform is not: a tenant that has filled its own
 * queue must not keep them from suspending it.
 */
export const tenantNamed = async (
  fresh: FreshReader,
  { id: actor_id }: { readonly id: string },
  { org_id, project_id }: Readonly<Record<string, string>>,
): Promise<string | undefined> => {
  if (project_id === undefined && org_id === undefined) return undefined
  const place = project_id === undefined ? { tenant_id: org_id!, project_id: null } : { tenant_id: null, project_id }
  const [known] = (await fresh.read([want(knownPlaces, { actor_id, ...place })])).values
  return known?.is_inside ? known.tenant_id : undefined
}

const named = ({ type, id, tenant_id, project_id }: Question['resource']) => ({
  id: id ?? null,
  tenant_id: tenant_id ?? (type === 'organization' ? id : undefined) ?? null,
  project_id: project_id ?? (type === 'project' ? id : undefined) ?? null,
  // Whose it is, its operator's own record says: named in a place that is not its own, it is like another's.
  shared_runtime_id: (type === 'shared_runtime' ? id : undefined) ?? null,
})

/** The registry's own text for a key: what is looked up by it again and again is then found at once. */
const keys = new Map(Object.keys(actions).map((key) => [key, key as Action]))
const actionOf = (key: string, field: string): Action => {
  const known = keys.get(key)
  if (known) return known
  throw new Problem('validation_error', [{ in: 'body', field, message: 'is not a known action' }])
}

/** About others: who may read the roles of the tier that is judged, in that place. The platform's key serves everywhere. */
const askingAbout = (action: Action, { tenant_id, project_id }: Named): readonly Action[] => {
  if (actions[action].tier === 'platform' || (tenant_id === null && project_id === null)) return ['platform.authz.evaluate']
  return [actions[action].tier === 'tenant' ? 'tenant.role.read' : 'project.role.read', 'platform.authz.evaluate']
}

type Named = ReturnType<typeof named>
/** A project is found by its id alone: that it is named in a tenant that it does not lie in is seen afterwards. */
const namedPlace = (caller: AskedActor, { tenant_id, project_id }: Named): NamedPlace => ({
  actor_id: caller.id,
  tenant_id: project_id === null ? tenant_id : null,
  project_id,
})
const isNamed = ({ tenant_id, project_id }: Named) => tenant_id !== null || project_id !== null

/** Of each place the tenant that it lies in, as far as the caller may know. */
const homesOf = async (fresh: FreshReader, caller: AskedActor, places: readonly Named[]): Promise<(string | undefined)[]> => {
  const asked = places.filter(isNamed)
  if (asked.length === 0) return []
  const { values } = await fresh.read(asked.map((place) => want(knownPlaces, namedPlace(caller, place))))
  const homes = values.values()
  return places.map((place) => (isNamed(place) ? (homes.next().value as KnownPlace | undefined)?.tenant_id : undefined))
}

/** A place of strangers lies nowhere, like one that does not exist: not even the time that an answer takes tells them apart. */
const placeOf = ({ tenant_id, project_id, ...said }: Named, relations: Place['relations'], home: string | undefined): Place => {
  // What is not where the question says it is lies nowhere, too.
  if (home === undefined || (tenant_id !== null && tenant_id !== home)) return { ...said, tenant_id: null, project_id: null, relations }
  return { ...said, tenant_id: home, project_id, relations }
}

/** The resource types whose id is that of a person: the user, and their memberships. */
const ofPeople: readonly string[] = ['user', 'tenant_membership', 'project_membership']

/** Reads questions together: where they lie is looked up once. */
export const readQuestions = async (
  fresh: FreshReader,
  caller: AskedActor,
  questions: readonly Question[],
  fieldOf: (index: number) => string,
): Promise<PlacedQuestion[]> => {
  const places = questions.map(({ resource }) => named(resource))
  const homes = await homesOf(fresh, caller, places)

  return questions.map(({ actor = caller, action: key, resource, attributes = {} }, index) => {
    const action = actionOf(key, fieldOf(index))
    const isSelf = ofPeople.includes(resource.type) && resource.id === actor.id && actor.type === 'user'
    const said = places[index]!
    return {
      actor,
      action,
      resource_type: resource.type,
      said,
      place: placeOf(said, isSelf ? ['self'] : [], homes[index]),
      attributes,
      asking: askingAbout(action, said),
      kind:
        said.project_id === null
          ? { type: 'organization', missing: 'organization_not_found' }
          : { type: 'project', missing: 'project_not_found' },
    }
  })
}
