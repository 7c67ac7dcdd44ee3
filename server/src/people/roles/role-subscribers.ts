import type { Role } from '@gatehouse/contract/roles'
import type { Work } from '#ground/work/work.ts'
import type { RoleScope } from './role-scope.ts'

/** Rooms above that act in the same transaction when a role ends. */
export interface RoleSubscribers {
  readonly onRoleDeleted: readonly ((work: Work, scope: RoleScope, role: Role, reason: string) => Promise<void>)[]
}
