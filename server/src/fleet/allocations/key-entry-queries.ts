import { DesiredKey, KeyHolder } from '@gatehouse/contract/node-tasks'
import { Exactly, Id } from '@gatehouse/contract/shapes'
import type { Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

type Proof = Authorized<Action, object>
const { key_type, blob, fingerprint } = DesiredKey.properties
const Ended = Exactly({ allocation_id: Id('allocation'), ssh_key_id: Id('ssh key'), fingerprint })
export type EndedEntry = Static<typeof Ended>
const Found = Exactly({ key_type, blob, fingerprint, ...KeyHolder.properties })

/** What is there already stays as it is. */
export const addKeyEntries = (
  _proof: Proof,
  allocation_id: string,
  entries: readonly { readonly id: string; readonly ssh_key_id: string }[],
  by: string,
  now: string,
) => sql(Exactly({ ssh_key_id: Id('ssh key') }))`
  insert into allocation_ssh_public_keys (id, allocation_id, ssh_key_id, epoch, created_at, created_by)
  select e.id, ${allocation_id}::uuid, e.ssh_key_id, i.epoch, ${now}::timestamptz, ${by}::uuid
    from unnest(${entries.map(({ id }) => id)}::uuid[], ${entries.map(({ ssh_key_id }) => ssh_key_id)}::uuid[]) as e (id, ssh_key_id)
   cross join installation i
  on conflict (allocation_id, ssh_key_id) where ended_at is null do nothing
  returning ssh_key_id`

export interface WhichEntries {
  /** Keys of this person. */
  readonly user_id?: string
  readonly ssh_key_id?: string
  /** All but these. */
  readonly except?: readonly string[]
  /** Those of a time before a restore only. */
  readonly is_of_earlier_epoch?: boolean
}

export const endEntries = (_proof: Proof, allocation_ids: readonly string[], which: WhichEntries, cause: string, now: string) => sql(Ended)`
  update allocation_ssh_public_keys e set ended_at = ${now}, end_cause = ${cause}
    from ssh_public_keys k, installation i
   where e.allocation_id = any(${allocation_ids}::uuid[]) and e.ended_at is null and k.id = e.ssh_key_id
     and (${which.user_id ?? null}::uuid is null or k.user_id = ${which.user_id ?? null}::uuid)
     and (${which.ssh_key_id ?? null}::uuid is null or k.id = ${which.ssh_key_id ?? null}::uuid)
     and (${which.except ?? null}::uuid[] is null or k.id <> all(${which.except ?? null}::uuid[]))
     and (not ${which.is_of_earlier_epoch ?? false}::boolean or e.epoch < i.epoch)
  returning e.allocation_id, e.ssh_key_id, k.fingerprint`

/**
 * Who may enter now: nobody while the organization or the project rests, and nothing that a restored backup has revived. A key that was
 * granted to its owner until some time is there no longer, though it is among the allocation's own: that time ends it there as well (SG-11).
 */
export const entriesOf = (allocation_id: string, now: string) => sql(Found)`
  with open as (
    select a.id, i.epoch from installation i, allocations a
      join projects p on p.id = a.project_id and p.state = 'active'
      join organizations o on o.id = a.org_id and o.state = 'active' and o.deleted_at is null
     where a.id = ${allocation_id})
  select k.key_type, k.blob, k.fingerprint, null::uuid as grant_id, k.id as ssh_key_id, k.user_id, g.expires_at
    from open join allocation_ssh_public_keys e on e.allocation_id = open.id and e.ended_at is null and e.epoch = open.epoch
    join ssh_public_keys k on k.id = e.ssh_key_id and k.deleted_at is null
    left join allocation_access_grants g on g.allocation_id = open.id and g.ssh_key_id = k.id and g.ended_at is null and g.epoch = open.epoch
   where g.expires_at is null or g.expires_at > ${now}
  union all
  select k.key_type, k.blob, k.fingerprint, g.id, k.id, k.user_id, g.expires_at
    from open join allocation_access_grants g on g.allocation_id = open.id and g.ended_at is null and g.epoch = open.epoch
     and (g.expires_at is null or g.expires_at > ${now})
    join ssh_public_keys k on k.id = g.ssh_key_id and k.deleted_at is null`
