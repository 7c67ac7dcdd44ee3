import * as members from '@gatehouse/contract/members'
import * as bindings from '@gatehouse/contract/role-bindings'
import * as upgrades from '@gatehouse/contract/role-upgrades'
import * as roles from '@gatehouse/contract/roles'
import { answer } from '#rails/http/answer.ts'
import { addProjectMember } from './add-project-member.ts'
import { appointProjectOwner } from './appoint-project-owner.ts'
import { bindRole } from './bind-role.ts'
import { createRole, deleteRole, updateRole } from './define-role.ts'
import { disableBuiltinRole, disableRole, enableBuiltinRole, enableRole } from './disable-role.ts'
import { endRoleBinding } from './end-role-binding.ts'
import { listRoleBindings } from './list-role-bindings.ts'
import { listBuiltinRoles, listRoles, listRoleVersions, readRole } from './list-roles.ts'
import { createPlatformBinding, endPlatformBinding, listPlatformBindings } from './platform-bindings.ts'
import type { RoleSubscribers } from './role-subscribers.ts'
import { previewUpgrade } from './upgrade-preview.ts'
import { upgradeRole } from './upgrade-role.ts'

/** Most verbs serve both scopes: the path says which. */
export const roleRoutes = (subscribers: RoleSubscribers) => [
  answer(members.addProjectMember, addProjectMember),
  answer(roles.listOrganizationRoles, listRoles),
  answer(roles.listProjectRoles, listRoles),
  answer(roles.createOrganizationRole, createRole),
  answer(roles.createProjectRole, createRole),
  answer(roles.readOrganizationRole, readRole),
  answer(roles.readProjectRole, readRole),
  answer(roles.listOrganizationRoleVersions, listRoleVersions),
  answer(roles.listProjectRoleVersions, listRoleVersions),
  answer(roles.updateOrganizationRole, updateRole),
  answer(roles.updateProjectRole, updateRole),
  answer(roles.deleteOrganizationRole, deleteRole(subscribers)),
  answer(roles.deleteProjectRole, deleteRole(subscribers)),
  answer(roles.disableOrganizationRole, disableRole),
  answer(roles.disableProjectRole, disableRole),
  answer(roles.enableOrganizationRole, enableRole),
  answer(roles.enableProjectRole, enableRole),
  answer(roles.listBuiltinRoles, listBuiltinRoles),
  answer(roles.disableBuiltinRole, disableBuiltinRole),
  answer(roles.enableBuiltinRole, enableBuiltinRole),
  answer(upgrades.previewOrganizationUpgrade, previewUpgrade),
  answer(upgrades.previewProjectUpgrade, previewUpgrade),
  answer(upgrades.upgradeOrganizationRole, upgradeRole),
  answer(upgrades.upgradeProjectRole, upgradeRole),
  answer(bindings.listOrganizationBindings, listRoleBindings),
  answer(bindings.listProjectBindings, listRoleBindings),
  answer(bindings.createOrganizationBinding, bindRole),
  answer(bindings.createProjectBinding, bindRole),
  answer(bindings.endOrganizationBinding, endRoleBinding),
  answer(bindings.endProjectBinding, endRoleBinding),
  answer(bindings.listPlatformBindings, listPlatformBindings),
  answer(bindings.createPlatformBinding, createPlatformBinding),
  answer(bindings.endPlatformBinding, endPlatformBinding),
  answer(bindings.appointProjectOwner, appointProjectOwner),
]
