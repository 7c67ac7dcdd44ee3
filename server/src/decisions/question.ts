import type { Question } from '@gatehouse/contract/decisions'
import { type Action, actions } from '../authz/actions.ts'
import type { Kind, Place } from '../authz/kind.ts'
import type { FreshReader, Source } from '../epochs/fresh.ts'
import { want } from '../epochs/fresh.ts'
import { Problem } from '../kernel/problem.ts'
import { tenantsOfProjects } from './decision-queries.ts'

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

/** Which tenant a project lies in. That there is none is not kept. */
const projectTenants: Source<string, string> = {
  name: 'project tenant',
  textOf: (project_id) => project_id,
  tenantOf: () => null,
  load: async (tx, project_ids) => {
    const homes = new Map((await tx.many(tenantsOfProjects(project_ids))).map(({ id, org_id }) => [id, org_id]))
    return project_ids.map((id) => homes.get(id))
  },
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
const askingAbout = (action: Action, { tenant_id, project_id }: ReturnType<typeof named>): readonly Action[] => {
  if (actions[action].tier === 'platform' || (tenant_id === null && project_id === null)) return ['platform.authz.evaluate']
  return [actions[action].tier === 'tenant' ? 'tenant.role.read' : 'project.role.read', 'platform.authz.evaluate']
}

/** Where projects lie, of those that there are. */
const homesOf = async (fresh: FreshReader, project_ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const { values } = await fresh.read(project_ids.map((id) => want(projectTenants, id)))
  const homes = new Map<string, string>()
  for (let index = 0; index < values.length; index += 1) if (values[index] !== undefined) homes.set(project_ids[index]!, values[index]!)
  return homes
}
const noHomes: ReadonlyMap<string, string> = new Map()

const placeOf = (
  { tenant_id, project_id, ...said }: ReturnType<typeof named>,
  relations: Place['relations'],
  homes: ReadonlyMap<string, string>,
): Place => {
  if (project_id === null) return { ...said, tenant_id, project_id, relations }
  const home = homes.get(project_id)
  // What is not where the question says it is lies nowhere.
  if (home === undefined || (tenant_id !== null && tenant_id !== home)) return { ...said, tenant_id: null, project_id: null, relations }
  return { ...said, tenant_id: home, project_id, relations }
}

/** What has the id of a person: himself, and that he belongs somewhere. */
const ofPeople: readonly string[] = ['user', 'tenant_membership', 'project_membership']

/** Reads questions together: where their projects lie is looked up once. */
export const readQuestions = async (
  fresh: FreshReader,
  caller: AskedActor,
  questions: readonly Question[],
  fieldOf: (index: number) => string,
): Promise<PlacedQuestion[]> => {
  const places = questions.map(({ resource }) => named(resource))
  const project_ids = places.flatMap(({ project_id }) => (project_id === null ? [] : [project_id]))
  const homes = project_ids.length === 0 ? noHomes : await homesOf(fresh, project_ids)

  return questions.map(({ actor = caller, action: key, resource, attributes = {} }, index) => {
    const action = actionOf(key, fieldOf(index))
    const isSelf = ofPeople.includes(resource.type) && resource.id === actor.id && actor.type === 'user'
    const said = places[index]!
    return {
      actor,
      action,
      resource_type: resource.type,
      said,
      place: placeOf(said, isSelf ? ['self'] : [], homes),
      attributes,
      asking: askingAbout(action, said),
      kind:
        said.project_id === null
          ? { type: 'organization', missing: 'organization_not_found' }
          : { type: 'project', missing: 'project_not_found' },
    }
  })
}
