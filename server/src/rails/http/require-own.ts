import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import type { ActorClass } from '../authz/actor-class.ts'
import type { Asking } from './asking.ts'

/** A machine's token is held against the path before anything is looked up, so that its refusal tells nothing of what there is. */
export const requireWithinToken = ({ token }: Actor, { org_id, project_id, shared_runtime_id }: Asking['params']): void => {
  const isOther = (bound: string | null | undefined, named: string | undefined) =>
    typeof bound === 'string' && named !== undefined && named !== bound
  if (isOther(token?.tenant_id, org_id) || isOther(token?.project_id, project_id) || isOther(token?.shared_runtime_id, shared_runtime_id))
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}

/** Who can name itself in a path, as a node does, speaks for itself alone. */
export const requireOneself = (actor: Actor, params: Asking['params'], { own_param }: Pick<ActorClass, 'own_param'>): void => {
  const named = own_param === null ? undefined : params[own_param]
  if (named !== undefined && named !== actor.id) throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}
