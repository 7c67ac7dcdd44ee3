import { removeOrganizationMember, removeProjectMember } from '../contract/src/members.ts'
import type { Operation } from '../contract/src/operation.ts'
import {
  createOrganizationBinding,
  createProjectBinding,
  endOrganizationBinding,
  endProjectBinding,
  listOrganizationBindings,
  listProjectBindings,
} from '../contract/src/role-bindings.ts'
import {
  previewOrganizationUpgrade,
  previewProjectUpgrade,
  upgradeOrganizationRole,
  upgradeProjectRole,
} from '../contract/src/role-upgrades.ts'
import {
  createOrganizationRole,
  createProjectRole,
  deleteOrganizationRole,
  deleteProjectRole,
  disableOrganizationRole,
  disableProjectRole,
  enableOrganizationRole,
  enableProjectRole,
  listOrganizationRoles,
  listOrganizationRoleVersions,
  listProjectRoles,
  listProjectRoleVersions,
  readOrganizationRole,
  readProjectRole,
  updateOrganizationRole,
  updateProjectRole,
} from '../contract/src/roles.ts'
import type { Answer, Asked } from './ask.ts'
import { type LiveServer, seeded } from './live-server.ts'

export type Tier = 'tenant' | 'project'

/** Two operations that take the same request, one in a tenant and one in a project. */
interface Pair<P, Q, B, R> {
  readonly tenant: Operation
  readonly project: Operation
  /** Exists only in the types. */
  readonly types?: { readonly params: P; readonly query: Q; readonly body: B; readonly reply: R }
}
const pair = <P, Q, B, R>(tenant: Operation<P, Q, B, R>, project: Operation<unknown, Q, B, R>): Pair<Omit<P, 'org_id'>, Q, B, R> => ({
  tenant,
  project,
})

export const roles = {
  list: pair(listOrganizationRoles, listProjectRoles),
  create: pair(createOrganizationRole, createProjectRole),
  read: pair(readOrganizationRole, readProjectRole),
  versions: pair(listOrganizationRoleVersions, listProjectRoleVersions),
  update: pair(updateOrganizationRole, updateProjectRole),
  remove: pair(deleteOrganizationRole, deleteProjectRole),
  disable: pair(disableOrganizationRole, disableProjectRole),
  enable: pair(enableOrganizationRole, enableProjectRole),
  previewUpgrade: pair(previewOrganizationUpgrade, previewProjectUpgrade),
  upgrade: pair(upgradeOrganizationRole, upgradeProjectRole),
}
export const bindings = {
  list: pair(listOrganizationBindings, listProjectBindings),
  create: pair(createOrganizationBinding, createProjectBinding),
  end: pair(endOrganizationBinding, endProjectBinding),
}
export const members = { remove: pair(removeOrganizationMember, removeProjectMember) }

/** Asks the operation of a tier, with the id of its scope: of the seeded organization and project, unless others are named. */
export const scopedAsk =
  (live: Pick<LiveServer, 'ask'>, scopes: Readonly<Record<Tier, string>> = { tenant: seeded.org.aurora, project: seeded.project.aurora }) =>
  <P, Q, B, R>(
    tier: Tier,
    person: string,
    operations: Pair<P, Q, B, R>,
    ...[given]: Asked<NoInfer<P>, NoInfer<Q>, NoInfer<B>>
  ): Promise<Answer<R>> => {
    const scope = tier === 'tenant' ? { org_id: scopes.tenant } : { project_id: scopes.project }
    const { params = {} } = (given ?? {}) as { params?: object }
    return live.ask(person, operations[tier] as Operation, { ...given, params: { ...params, ...scope } } as never) as never
  }
