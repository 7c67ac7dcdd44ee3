import type { Organization } from '@gatehouse/contract/organizations'
import type { Project } from '@gatehouse/contract/projects'
import type { Work } from '#ground/work/work.ts'
import type { Authority } from '#rails/authz/authorize.ts'

/** A membership that has just ended, in this same transaction. */
export interface EndedMembership {
  readonly tenant_id: string
  /** Null: the membership of the whole organization. */
  readonly project_id: string | null
  readonly user_id: string
  readonly reason: string
  /** How the one who ended it came to do so; null for one that ended because a wider one did. */
  readonly by: Authority | null
}

/**
 * Rooms above that must act in the same transaction when something here begins or ends. Each writes its own tables; any of them
 * may refuse by throwing, and then nothing happened.
 */
export interface TenancySubscribers {
  /** Whether an organization with a project can be founded now. Asked where nobody waits for a refusal, as at a first sign-in. */
  readonly canBeFounded: readonly ((work: Work) => Promise<boolean>)[]
  readonly onOrganizationFounded: readonly ((work: Work, organization: Organization, owner_user_id: string) => Promise<void>)[]
  readonly onProjectFounded: readonly ((work: Work, project: Project, owner_user_id: string) => Promise<void>)[]
  /** Suspended or resumed, in this same transaction. */
  readonly onOrganizationMoved: readonly ((work: Work, organization: Organization, reason: string) => Promise<void>)[]
  /** Archived or restored. */
  readonly onProjectMoved: readonly ((work: Work, project: Project, reason: string) => Promise<void>)[]
  readonly onMembershipEnded: readonly ((work: Work, ended: EndedMembership) => Promise<void>)[]
}
