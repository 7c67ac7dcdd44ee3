import type { Operation } from '@gatehouse/contract/operation'
import { uuidPattern } from '@gatehouse/contract/shapes'
import type { Actor, Asked, Work } from '#ground/work/work.ts'
import type { ActorClass } from '../authz/actor-class.ts'
import type { Noun } from './noun.ts'
import { projectInTenant } from './refused-target-queries.ts'

type Params = Readonly<Record<string, string>>
const isId = new RegExp(uuidPattern)

/** Of a path, what can only be an id: whatever else stands there is the caller's own text, and may be a secret. */
const idsIn = (params: Params): Params => Object.fromEntries(Object.entries(params).filter(([, value]) => isId.test(value)))

/** What the record can name, and the class of who asked. */
export interface Declared {
  readonly nouns: readonly Noun[]
  readonly of_class: Pick<ActorClass, 'noun' | 'refused_at' | 'home'>
}

/** What the record calls that which an id of a path names. */
const kindOf = (nouns: readonly Noun[], name: string, path: string): string | undefined =>
  nouns.find(({ id_param, under }) => id_param === name && (under === undefined || path.includes(`:${under}`)))?.type

/**
 * What a decision was about, for the record. A list and a creation are judged as what is on the list or would be made, in the place where
 * that lies; of those the record names the place, which exists.
 */
export const lookedAt = (
  asked: Asked,
  actor: Pick<Actor, 'id'>,
  { nouns, of_class }: Declared,
): Pick<Asked, 'resource_type' | 'resource_id'> => {
  const { resource_type, resource_id } = asked
  const isIt = (id: string | null | undefined) => typeof id === 'string' && id === resource_id
  if (isIt('platform')) return { resource_type: 'platform', resource_id }
  const place = nouns.find((noun) => noun.place !== undefined && isIt(asked[noun.place]))?.type
  const oneself = of_class.noun !== null && isIt(actor.id) ? of_class.noun : undefined
  return { resource_type: place ?? oneself ?? resource_type, resource_id }
}

/** What was asked about, by the last id in the path: for what was refused before anything was judged. */
export const targetOf = ({ path }: Pick<Operation, 'path'>, params: Params, nouns: readonly Noun[]) => {
  const ids = idsIn(params)
  const named = [...path.matchAll(/:(\w+)/g)].flatMap(([, name]) => {
    const [resource_type, resource_id] = [kindOf(nouns, name!, path), ids[name!]]
    return resource_type && resource_id ? [{ resource_type, resource_id }] : []
  })
  return named.at(-1) ?? { resource_type: 'operation', resource_id: null }
}

/** Where a machine lives; null of whoever lives nowhere, or is not asked. */
const homeOf = async ({ tx, actor }: Work, { home }: Declared['of_class']): Promise<string | null> => {
  if (actor.token) return actor.token.tenant_id
  return (home ? await tx.maybe(home(actor.id)) : undefined)?.org_id ?? null
}

/**
 * Whose business a refusal is: of whom the judged thing is, if the actor belongs there. A machine's is its own tenant's, unless what it asked for
 * is another's; or is nobody's, for a tenant must not learn from its own record which of the two it was.
 */
export const placeOf = async (work: Work, { org_id, project_id }: Params, judged: Asked | undefined, of_class: Declared['of_class']) => {
  const platforms = { tenant_id: null, project_id: null }
  if (judged?.is_member) return { tenant_id: judged.tenant_id, project_id: judged.project_id }
  const home = await homeOf(work, of_class)
  if (home === null) return platforms
  if (judged?.tenant_id === home) return { tenant_id: home, project_id: judged.project_id }
  const named = project_id !== undefined && (await work.tx.maybe(projectInTenant(project_id, home)))
  const isAtHome = judged === undefined && (org_id === undefined || org_id === home) && (project_id === undefined || named)
  if (!isAtHome && of_class.refused_at !== 'home') return platforms
  return { tenant_id: home, project_id: named ? named.id : null }
}
