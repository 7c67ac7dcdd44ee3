import type { Project } from '@gatehouse/contract/projects'
import type { Action } from '../authz/actions.ts'
import { type Authorized, authorityOf, authorize } from '../authz/authorize.ts'
import { grantSeverity } from '../authz/override-limits.ts'
import { findProject, lockProject } from '../tenancy/project-queries.ts'
import type { Severity, Work } from '../work/work.ts'
import { ownKeyKind, projectKeyKind } from './ssh-key.ts'
import type { KeyOwner } from './ssh-key-queries.ts'
import { lockOwner } from './ssh-key-queries.ts'

export const ownedBy = (user_id: string): KeyOwner => ({ user_id, org_id: null, project_id: null })
export const ownedIn = ({ id, org_id }: Pick<Project, 'id' | 'org_id'>): KeyOwner => ({ user_id: null, org_id, project_id: id })

export const authorizeToSeeOwn = (work: Work) => authorize(work, 'me.ssh_key.read', ownKeyKind(), { id: work.actor.id })

/** Locked: how many keys somebody has is counted by one at a time. */
export const authorizeOwn = async (work: Work, ssh_key_id?: string) =>
  authorize(work, 'me.ssh_key.manage', ownKeyKind(ssh_key_id), await work.tx.maybe(lockOwner(work.actor.id)))

export const authorizeToSeeIn = async (work: Work, project_id: string) =>
  authorize(work, 'project.ssh_key.read', projectKeyKind(), await work.tx.maybe(findProject(project_id)))

export const authorizeIn = async (work: Work, project_id: string, ssh_key_id?: string) =>
  authorize(work, 'project.ssh_key.manage', projectKeyKind(ssh_key_id), await work.tx.maybe(lockProject(project_id)))

/** What a record says of where; what the platform did in a tenant stands out in that tenant's own log. */
export const recordedIn = (project: Authorized<Action, Project>): { tenant_id: string; project_id: string; severity: Severity } => ({
  tenant_id: project.org_id,
  project_id: project.id,
  severity: grantSeverity(authorityOf(project)),
})
