import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import type { Asking } from './asking.ts'

/** A machine's token is held against the path before anything is looked up, so that its refusal tells nothing of what there is. */
export const requireWithinToken = ({ token }: Actor, { org_id, project_id, shared_runtime_id }: Asking['params']): void => {
  const isOther = (bound: string | null | undefined, named: string | undefined) =>
    typeof bound === 'string' && named !== undefined && named !== bound
  if (isOther(token?.tenant_id, org_id) || isOther(token?.project_id, project_id) || isOther(token?.shared_runtime_id, shared_runtime_id))
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}

/** A node speaks for itself alone. */
export const requireOwnNode = (actor: Actor, { node_id }: Asking['params']): void => {
  if (actor.type === 'node_agent' && node_id !== undefined && node_id !== actor.id)
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}
