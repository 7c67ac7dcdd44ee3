import type { Severity, Work } from '#ground/work/work.ts'
import { findProject, lockProject } from '#people/tenancy/project-queries.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity } from '#rails/authz/override-limits.ts'
import { ownKeyKind, projectKeyKind } from './ssh-key.ts'
import { type KeyOwner, lockOwner, type Managing } from './ssh-key-queries.ts'

export const authorizeToSeeOwn = (work: Work) => authorize(work, 'me.ssh_key.read', ownKeyKind(), { id: work.actor.id })

export const authorizeToSeeIn = async (work: Work, project_id: string) =>
  authorize(work, 'project.ssh_key.read', projectKeyKind(), await work.tx.maybe(findProject(project_id)))

/** Whose keys are about to change, and by what right. Locked: how many keys there are is counted by one at a time. */
export interface Managed {
  readonly proof: Managing
  readonly owner: KeyOwner
  /** What a record says of where. */
  readonly recorded: { readonly tenant_id?: string; readonly project_id?: string; readonly severity?: Severity }
}

export const managedOwn = async (work: Work, ssh_key_id?: string): Promise<Managed> => {
  const proof = await authorize(work, 'me.ssh_key.manage', ownKeyKind(ssh_key_id), await work.tx.maybe(lockOwner(work.actor.id)))
  return { proof, owner: { user_id: proof.id, org_id: null, project_id: null }, recorded: {} }
}

export const managedIn = async (work: Work, project_id: string, ssh_key_id?: string): Promise<Managed> => {
  const proof = await authorize(work, 'project.ssh_key.manage', projectKeyKind(ssh_key_id), await work.tx.maybe(lockProject(project_id)))
  const { id, org_id: tenant_id } = proof
  // What the platform did in a tenant stands out in that tenant's own log.
  const recorded = { tenant_id, project_id: id, severity: grantSeverity(authorityOf(proof)) }
  return { proof, owner: { user_id: null, org_id: tenant_id, project_id: id }, recorded }
}
