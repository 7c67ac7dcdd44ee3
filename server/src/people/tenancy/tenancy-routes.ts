import * as members from '@gatehouse/contract/members'
import * as organizations from '@gatehouse/contract/organizations'
import * as projects from '@gatehouse/contract/projects'
import { answer } from '#rails/http/answer.ts'
import { archiveProject, restoreProject } from './archive-project.ts'
import { createOrganization } from './create-organization.ts'
import { createProject } from './create-project.ts'
import { listOrganizationMembers } from './list-organization-members.ts'
import { listOrganizations } from './list-organizations.ts'
import { listProjectMembers } from './list-project-members.ts'
import { listProjects } from './list-projects.ts'
import { readOrganization } from './read-organization.ts'
import { readProject } from './read-project.ts'
import { removeOrganizationMember } from './remove-organization-member.ts'
import { removeProjectMember } from './remove-project-member.ts'
import type { TenancySubscribers } from './subscribers.ts'
import { resumeOrganization, suspendOrganization } from './suspend-organization.ts'
import { updateOrganization } from './update-organization.ts'
import { updateProject } from './update-project.ts'

export const tenancyRoutes = (subscribers: TenancySubscribers) => [
  answer(organizations.listOrganizations, listOrganizations),
  answer(organizations.createOrganization, createOrganization(subscribers)),
  answer(organizations.readOrganization, readOrganization),
  answer(organizations.updateOrganization, updateOrganization),
  answer(organizations.suspendOrganization, suspendOrganization(subscribers)),
  answer(organizations.resumeOrganization, resumeOrganization(subscribers)),
  answer(projects.listProjects, listProjects),
  answer(projects.createProject, createProject(subscribers)),
  answer(projects.readProject, readProject),
  answer(projects.updateProject, updateProject),
  answer(projects.archiveProject, archiveProject(subscribers)),
  answer(projects.restoreProject, restoreProject(subscribers)),
  answer(members.listOrganizationMembers, listOrganizationMembers),
  answer(members.removeOrganizationMember, removeOrganizationMember(subscribers)),
  answer(members.listProjectMembers, listProjectMembers),
  answer(members.removeProjectMember, removeProjectMember(subscribers)),
]
