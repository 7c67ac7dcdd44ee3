import type { ProblemCode } from '@gatehouse/contract/problems'
import type { Actor } from '#ground/work/work.ts'
import type { Relation } from './actions.ts'
import type { RequestAttributes } from './attributes.ts'

/** Where a resource is, and how the actor stands to it. */
export interface Place {
  readonly id: string | null
  readonly tenant_id: string | null
  readonly project_id: string | null
  /** The shared runtime that it is, or belongs to. */
  readonly shared_runtime_id?: string | null
  readonly relations: readonly Relation[]
  /** What rules may look at beyond the connection: taken from the row, never from the caller's word. */
  readonly attributes?: RequestAttributes
}

/** What the engine must know of a noun, and no more: how its rows lie in tenants and projects. */
export interface Kind<R> {
  readonly type: string
  readonly missing: ProblemCode
  readonly placeOf: (row: R, actor: Actor) => Place
}

/** In no tenant: where an absent resource is, so that it answers like one in a tenant of strangers. */
export const nowhere: Place = { id: null, tenant_id: null, project_id: null, relations: [] }

/** The platform itself, for actions that concern no tenant's resource. */
export const platformKind: Kind<{ id: 'platform' }> = {
  type: 'platform',
  missing: 'route_not_found',
  placeOf: () => ({ ...nowhere, id: 'platform' }),
}
export const thePlatform = { id: 'platform' } as const

/** The person himself. */
export const selfKind: Kind<{ id: string }> = {
  type: 'user',
  missing: 'user_not_found',
  placeOf: ({ id }, actor) => ({ ...nowhere, id, relations: actor.type === 'user' && actor.id === id ? ['self'] : [] }),
}
