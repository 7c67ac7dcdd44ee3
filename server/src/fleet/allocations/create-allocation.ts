import type { createAllocation as Op } from '@gatehouse/contract/allocations'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { lockProject } from '#people/tenancy/project-queries.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { type AllocationParts, type RequireTaggable, recordedOf } from './allocation.ts'
import { countRequested, insertAllocation } from './allocation-queries.ts'
import { allocationsOf, projectNamed } from './allocation-scope.ts'
import { holdKeys, requireOwnKeys } from './hold-keys.ts'
import { addKeyEntries } from './key-entry-queries.ts'
import { requireKinds } from './key-kinds.ts'
import { placeAllocation } from './place-allocation.ts'
import { shown } from './shown-allocation.ts'

/** Whoever asks owns it; a machine owns nothing (SG-18). */
const requesterOf = ({ actor }: Work) => {
  if (actor.type !== 'user' && actor.type !== 'service_account') throw new Error('nobody else asks for allocations')
  return { requested_by_type: actor.type, requested_by: actor.id, owner_user_id: actor.type === 'user' ? actor.id : null }
}

/** Beside this one, which is there already. The project is locked: nobody counts at the same time. */
const requireRoomToWait = async ({ tx }: Work, project_id: string): Promise<void> => {
  const { count } = await tx.one(countRequested(project_id))
  await requireRoom(tx, 'allocations.max_requested_per_project', count - 1)
}

export const createAllocation =
  (parts: AllocationParts, requireTaggable: RequireTaggable): Answering<typeof Op> =>
  async (work, { body, project_header }) => {
    const { name, region, sku, gpus, shared_runtime_id = null, ssh_key_ids = [], reason = null } = body
    const project_id = projectNamed(work, { project_header, named: body, where: 'body' })
    const found = await work.tx.maybe(lockProject(project_id))
    const requester = requesterOf(work)
    const held = await holdKeys(work, requester.owner_user_id, ssh_key_ids)
    const project = await authorize(work, 'allocation.create', allocationsOf({ region, sku, gpus }), found)
    if (shared_runtime_id !== null) await requireTaggable(work, project, shared_runtime_id)
    requireOwnKeys({ project_id: project.id }, held, ssh_key_ids)
    await requireKinds(work, { org_id: project.org_id, project_id: project.id }, held.keys)
    // An owner is somebody who could be disabled while this is under way.
    if (held.owner_user_id !== requester.owner_user_id) throw new Problem('insufficient_permissions', { reason_code: 'actor_disabled' })
    const where = { org_id: project.org_id, project_id: project.id, shared_runtime_id }
    const made = { id: newId('allocation'), ...where, name, region, sku, gpus, ...requester }
    const allocation = await work.tx.one(insertAllocation(project, made, work.now))
    const entries = ssh_key_ids.map((ssh_key_id) => ({ id: newId('key entry'), ssh_key_id }))
    if (entries.length > 0) await work.tx.many(addKeyEntries(project, allocation.id, entries, work.actor.id, work.now))
    record(work, {
      action: 'allocation.create',
      ...recordedOf(allocation),
      metadata: {
        name,
        region,
        sku,
        gpus,
        shared_runtime_id,
        owner_user_id: allocation.owner_user_id,
        ssh_key_ids,
        fingerprints: held.keys.map((key) => key.fingerprint),
        reason,
      },
    })
    const { state } = await placeAllocation(work, parts, allocation)
    if (state === 'requested') await requireRoomToWait(work, project.id)
    return shown(work, allocation.id)
  }
