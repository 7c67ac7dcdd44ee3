import { type rotateServiceAccountKey as Op, usual_overlap_seconds } from '@gatehouse/contract/service-accounts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeKey, recordedIn } from './account-scope.ts'
import { endKeyAfter, findKey, revokeKey } from './key-queries.ts'
import { makeKey } from './making-keys.ts'

/** A new key beside the older one, which still counts for as long as it takes to carry the new one everywhere. */
export const rotateKey: Answering<typeof Op> = async (work, { params, body }) => {
  const { overlap_seconds = usual_overlap_seconds, reason = null, ...wish } = body
  const { project, account } = await authorizeKey(work, 'project.service_account.key.create', params)
  const older = await work.tx.maybe(findKey(project.id, account.id, params.key_id))
  if (!older) throw new Problem('service_account_key_not_found')
  if (older.state !== 'active') throw new Problem('state_conflict', { state: older.state })
  const key = await makeKey(work, project, account, { ...wish, freed: overlap_seconds === 0 ? 1 : 0 })
  const { ends_at } = await work.tx.one(
    overlap_seconds === 0
      ? revokeKey(project, older.key_id, work.actor.id, reason ?? 'rotated', work.now)
      : endKeyAfter(project, older.key_id, overlap_seconds, work.now),
  )
  record(work, {
    action: 'service_account.key.rotate',
    resource_type: 'service_account_key',
    resource_id: key.key_id,
    ...recordedIn(project),
    metadata: {
      service_account_id: account.id,
      slug: account.slug,
      kind: key.kind,
      alg: key.alg,
      expires_at: key.expires_at,
      replaces: older.key_id,
      overlap_seconds,
      ends_at,
      reason,
    },
  })
  return { ...key, replaces: { key_id: older.key_id, ends_at } }
}
