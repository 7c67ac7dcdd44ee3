import { newId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import type { TenancySubscribers } from '#people/tenancy/subscribers.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { RuntimeSubscribers } from '#runtimes/shared-runtimes/shared-runtime.ts'
import { type CutOff, insertCutOff } from './cutoff-queries.ts'

const cutOff = async (work: Work, subject: Pick<CutOff, 'subject_type' | 'subject_id' | 'org_id'>, reason: string): Promise<void> => {
  const proof = systemProof('scope_cascade', 'platform.admin', {})
  await work.tx.one(
    insertCutOff(
      proof,
      { ...subject, id: newId('cutoff'), issued_before: work.now, is_of_all: true, created_by: work.actor.id, reason },
      work.now,
    ),
  )
}

/**
 * Whichever way an organization or a project moves, its machine tokens end, and no way back revives them. Also on the way back: a token
 * that was being issued just when the way went down must not begin to count then. What moved is recorded by who moved it.
 */
export const endTokensOfOrganization: TenancySubscribers['onOrganizationMoved'][number] = (work, { id }, reason) =>
  cutOff(work, { subject_type: 'organization', subject_id: id, org_id: id }, reason)

export const endTokensOfProject: TenancySubscribers['onProjectMoved'][number] = (work, { id, org_id }, reason) =>
  cutOff(work, { subject_type: 'project', subject_id: id, org_id }, reason)

/** With its runtime an operator is gone for good. While one is disabled its tokens stay, and are refused. */
export const endTokensOfRuntime: RuntimeSubscribers['onRuntimeDeleted'][number] = (work, organization, { id }, reason) =>
  cutOff(work, { subject_type: 'actor', subject_id: id, org_id: organization.id }, reason)
