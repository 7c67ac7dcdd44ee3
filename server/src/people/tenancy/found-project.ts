import type { Organization } from '@gatehouse/contract/organizations'
import type { Project } from '@gatehouse/contract/projects'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Severity, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authorized, systemProof } from '#rails/authz/authorize.ts'
import { insertProjectMembership, tenantMembership } from './membership-queries.ts'
import { insertProject } from './project-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

/** A project begins with its first owner, who is a member of the organization, in one transaction. */
export const foundProject = async (
  work: Work,
  organization: Authorized<'tenant.project.create', Pick<Organization, 'id'>>,
  founding: Pick<Project, 'id' | 'name' | 'slug'> & { owner_user_id: string; reason: string | null; severity: Severity },
  { onProjectFounded }: Pick<TenancySubscribers, 'onProjectFounded'>,
): Promise<Project> => {
  const by = work.actor.type === 'user' ? work.actor.id : null
  if (!(await work.tx.maybe(tenantMembership(organization.id, founding.owner_user_id)))) throw new Problem('not_tenant_member')
  const project = await work.tx.one(insertProject(organization, founding, by, work.now))
  const founded = systemProof('founding', 'tenant.project.create', project)
  await work.tx.one(insertProjectMembership(founded, newId('membership'), founding.owner_user_id, by, work.now))
  for (const subscriber of onProjectFounded) await subscriber(work, project, founding.owner_user_id)
  record(work, {
    action: 'project.create',
    resource_type: 'project',
    resource_id: project.id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: founding.severity,
    metadata: { slug: project.slug, owner_user_id: founding.owner_user_id, reason: founding.reason },
  })
  return project
}
