import { type PublicKey, parsePublicKey } from '../../server/src/fleet/ssh-keys/ssh-public-key.ts'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import { allocationOf } from './allocation-calls.ts'
import type { RightfulCall } from './rightful-call.ts'

const { project, user } = seeded

/** `own` is on the allocation of that name, `foreign` on another tenant's. */
export const grantOf = (name: string) => fixedId('access grant', `sweep ${name}`)
const keyOf = (name: string) => fixedId('ssh key', `sweep grantee ${name}`)

/** Two keys of a member's, one of which he was let in with; and somebody of another tenant, there. Allocations must be there. */
export const writeAccessGrants = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const [name, owner] of [
    ['new', 'axel'],
    ['own', 'axel'],
    ['foreign', 'bodo'],
  ] as const) {
    const { key_type, bits, blob, fingerprint } = parsePublicKey(newKeyLine()) as PublicKey
    await sql(
      `insert into ssh_public_keys (id, user_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
       values ($1, $2, 'Sweep', $3, $4, $5, $6, now(), 'user', $2)`,
      [keyOf(name), user(owner), key_type, bits, blob, fingerprint],
    )
  }
  await sql(
    `insert into allocation_access_grants (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at)
     select g.id, a.id, a.project_id, g.grantee, g.key_id, i.epoch, now(), a.owner_user_id, now()
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) as g (id, allocation_id, grantee, key_id)
       join allocations a on a.id = g.allocation_id cross join installation i`,
    [['own', 'foreign'].map(grantOf), ['own', 'foreign'].map(allocationOf), [user('axel'), user('bodo')], ['own', 'foreign'].map(keyOf)],
  )
}

const own = { person: 'asha', params: { allocation_id: allocationOf('own') } }
const because = { reason: 'because' }

export const onAccessGrants: Readonly<Record<string, RightfulCall>> = {
  'allocation.access_grant.list': own,
  'allocation.access_grant.create': { ...own, body: { grantee_user_id: user('axel'), ssh_key_id: keyOf('new'), ...because } },
  'allocation.access_grant.revoke': { ...own, params: { ...own.params, grant_id: grantOf('own') }, body: because },
  'allocation.ssh_session.list': own,
  'project.member.ssh_key.list': { person: 'amara', params: { project_id: project.aurora, user_id: user('axel') } },
}
