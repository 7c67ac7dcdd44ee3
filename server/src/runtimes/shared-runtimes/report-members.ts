import type { listRuntimeMembers as Read, reportRuntimeMembers as Report, RuntimeMember } from '@gatehouse/contract/shared-runtimes'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { readContributed } from './contributed-allocation.ts'
import { ownAmong } from './contributed-queries.ts'
import { forgetMembers, insertMembers, membersOf } from './member-queries.ts'
import { authorizeToOperate, authorizeToSee } from './runtime-scope.ts'
import { type RuntimeRow, recordedIn } from './shared-runtime.ts'
import { writeMembersSequence } from './shared-runtime-queries.ts'

const requireDistinct = (members: readonly RuntimeMember[]): void => {
  if (new Set(members.map(({ name }) => name)).size !== members.length)
    throw new Problem('validation_error', [{ in: 'body', field: 'members', message: 'must have a name each, and no two the same' }])
}

/** Of what it has no part in, its tenant is told what is the tenant's own; of the rest nobody is told whether it is there. */
const noteNamed = async (work: Work, { id, org_id, display_name }: RuntimeRow, named: readonly string[]): Promise<void> => {
  const own = await work.tx.many(ownAmong(org_id, named))
  const project_ids = [...new Set(own.map(({ project_id }) => project_id))].sort()
  work.trail.refused_about = {
    resource_type: 'shared_runtime',
    resource_id: id,
    tenant_id: org_id,
    project_id: project_ids.length === 1 ? project_ids[0]! : null,
    severity: 'warning',
    // No row grows with how many there were.
    metadata: { display_name, project_ids: project_ids.slice(0, 20), allocation_ids: own.map((each) => each.id).slice(0, 20) },
  }
}

/**
 * The projects whose allocations are named. Whether one is not attached, keeps its allocation to itself, or is not there at all, is told alike: it is
 * none that the runtime has part in.
 */
const projectsNamed = async (work: Work, runtime: RuntimeRow, members: readonly RuntimeMember[]): Promise<string[]> => {
  const named = new Set(members.flatMap(({ allocation_id }) => allocation_id ?? []))
  const seen = await readContributed(work, runtime.id, [...named])
  if (seen.length !== named.size) {
    for (const { id } of seen) named.delete(id)
    await noteNamed(work, runtime, [...named])
    throw new Problem('insufficient_permissions', { reason_code: 'membership_missing' })
  }
  return [...new Set(seen.map(({ project_id }) => project_id))].sort()
}

/** The whole list, in the place of the one before; one that is not later than that is ignored. */
export const reportMembers: Answering<typeof Report> = async (work, { params, body: { sequence, members } }) => {
  requireDistinct(members)
  const { organization, runtime } = await authorizeToOperate(work, 'shared_runtime.report', params)
  const is_taken = sequence > runtime.members_sequence
  const project_ids = is_taken ? await projectsNamed(work, runtime, members) : []
  if (is_taken) {
    await work.tx.one(writeMembersSequence(organization, runtime.id, sequence, work.now))
    await work.tx.many(forgetMembers(organization, runtime.id))
    if (members.length > 0) await work.tx.many(insertMembers(organization, runtime.id, members, work.now))
  }
  record(work, {
    action: 'shared_runtime.members.report',
    resource_type: 'shared_runtime',
    resource_id: runtime.id,
    // Where only one project is involved, it is that project's business too.
    ...recordedIn(organization, project_ids.length === 1 ? project_ids[0]! : null),
    metadata: { display_name: runtime.display_name, sequence, members: members.length, project_ids, is_taken },
  })
  return { is_taken, sequence: is_taken ? sequence : runtime.members_sequence }
}

/** Each with its allocation as far as that is contributed, and whoever asks may read it: what a project took back, or hides, is not told. */
export const readMembers: Answering<typeof Read> = async (work, { params }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.read', params)
  const { members_sequence: sequence, members_reported_at: reported_at } = runtime
  const members = await work.tx.many(membersOf(runtime.id))
  const readable = await readContributed(
    work,
    runtime.id,
    members.map(({ allocation_id }) => allocation_id),
  )
  for (const { project_id } of readable) work.trail.shown_of.add(project_id)
  const told = new Set(readable.map(({ id }) => id))
  const shown = members.map((member) =>
    member.allocation_id && told.has(member.allocation_id) ? member : { ...member, allocation_id: null },
  )
  return { sequence, reported_at, members: shown }
}
