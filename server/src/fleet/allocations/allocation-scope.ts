import type { Project } from '@gatehouse/contract/projects'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { lockProject } from '#people/tenancy/project-queries.ts'
import type { Action } from '#rails/authz/actions.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { requireAgreement } from '#rails/http/project-header.ts'
import { type AllocationRow, allocationKind, attributesOf } from './allocation.ts'
import { findAllocation, lockAllocation } from './allocation-queries.ts'

interface Naming {
  readonly project_header: string | undefined
  readonly named: { readonly project_id?: string }
  readonly where: 'query' | 'body'
}

/** The project that the request names, by itself or in the header. A machine's token is held against it before anything is looked up. */
export const projectNamed = ({ actor }: Work, { project_header, named, where }: Naming): string => {
  requireAgreement(project_header, named)
  const project_id = named.project_id ?? project_header
  if (project_id === undefined)
    throw new Problem('validation_error', [{ in: where, field: 'project_id', message: 'is required, here or as X-Project-ID' }])
  const bound = actor.token?.project_id ?? null
  if (bound !== null && bound !== project_id) throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
  return project_id
}

/** A project as the place of allocations of this shape. */
export const allocationsOf = (shape: Pick<AllocationRow, 'region' | 'sku' | 'gpus'>): Kind<Project> => ({
  type: 'allocation',
  missing: 'project_not_found',
  placeOf: ({ id, org_id }) => ({ id, tenant_id: org_id, project_id: id, relations: [], attributes: attributesOf(shape) }),
})

/**
 * One that is about to be changed, with the proof. Behind the locks of its organization and project, where who belongs and who owns
 * changes; `first` locks what comes before the allocation itself, and must tell nobody anything: it is not known yet who asks.
 */
export const authorizeToChange = async <A extends Action, F = undefined>(
  work: Work,
  action: A | readonly A[],
  allocation_id: string,
  first?: () => Promise<F>,
) => {
  const known = await work.tx.maybe(findAllocation(allocation_id))
  if (known) await work.tx.maybe(lockProject(known.project_id))
  const held = known && (await first?.())
  const allocation = await authorize(work, action, allocationKind, known && (await work.tx.one(lockAllocation(allocation_id))))
  return { allocation, held }
}
