import { AccessGrant, type EndCause, endCauses } from '@gatehouse/contract/access-grants'
import { Exactly, Nullable, OneOf } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

const Made = Exactly({ id: Type.String() })

/** The allocation, and the proof that somebody may be let in there. */
type Giving = Authorized<'project.access_grant.manage' | 'tenant.access_grant.manage', { readonly id: string; readonly project_id: string }>
/** The same for taking access back: somebody's own, or by a cascade. */
export type Ending = Authorized<'project.access_grant.manage' | 'tenant.access_grant.manage' | 'project.access_grant.revoke_own', object>

/** Whether somebody was ever given access there. */
export const anyGrantOf = (allocation_id: string, user_id: string) => sql(Made)`
  select id from allocation_access_grants where allocation_id = ${allocation_id} and grantee_user_id = ${user_id} limit 1`

const Grantee = Exactly({ grantee_user_id: Type.String() })
export const granteeOf = (allocation_id: string, grant_id: string) => sql(Grantee)`
  select grantee_user_id from allocation_access_grants where id = ${grant_id} and allocation_id = ${allocation_id}`

/** Of the project, of the organization that owns it, and not disabled. */
export const activeMember = (project_id: string, user_id: string) => sql(Made)`
  select u.id from users u
    join projects p on p.id = ${project_id}
    join tenant_memberships t on t.tenant_id = p.org_id and t.user_id = u.id and t.deleted_at is null
    join project_memberships m on m.project_id = p.id and m.user_id = u.id and m.deleted_at is null
   where u.id = ${user_id} and u.disabled_at is null`

const OpenGrant = Exactly({
  id: Type.String(),
  expires_at: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  is_over: Type.Boolean(),
})

/** The one that nobody has ended yet, whether or not its right is over. */
export const openGrant = (allocation_id: string, grantee_user_id: string, ssh_key_id: string) => sql(OpenGrant)`
  select g.id, g.expires_at, g.reason, g.epoch <> i.epoch or coalesce(g.expires_at <= transaction_timestamp(), false) as is_over
    from allocation_access_grants g cross join installation i
   where g.allocation_id = ${allocation_id} and g.grantee_user_id = ${grantee_user_id} and g.ssh_key_id = ${ssh_key_id} and g.ended_at is null`

export const countActiveGrants = (allocation_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from allocation_access_grants g cross join installation i
   where g.allocation_id = ${allocation_id} and g.ended_at is null and g.epoch = i.epoch
     and (g.expires_at is null or g.expires_at > transaction_timestamp())`

export interface NewGrant {
  readonly id: string
  readonly grantee_user_id: string
  readonly ssh_key_id: string
  readonly expires_at: string | null
  readonly reason: string | null
}

export const insertGrant = (
  allocation: Giving,
  { id, grantee_user_id, ssh_key_id, expires_at, reason }: NewGrant,
  by: string,
  now: string,
) => sql(Made)`
  insert into allocation_access_grants
         (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, expires_at, reason, created_at, created_by, updated_at)
  select ${id}, ${allocation.id}, ${allocation.project_id}, ${grantee_user_id}, ${ssh_key_id}, i.epoch, ${expires_at}, ${reason}, ${now}, ${by}, ${now}
    from installation i
  returning id`

export const moveEnd = (_allocation: Giving, id: string, expires_at: string | null, reason: string | null, now: string) => sql(Made)`
  update allocation_access_grants set expires_at = ${expires_at}, reason = coalesce(${reason}, reason), updated_at = ${now}
   where id = ${id} and ended_at is null
  returning id`

/** In which set the latest change of a grant is; null while nothing has been sent. */
export const setGeneration = (_allocation: Giving, id: string, generation: number | null) => sql(Made)`
  update allocation_access_grants set generation = ${generation}::bigint where id = ${id} returning id`

/** Of all that count. */
export const moveGenerations = (_proof: Ending, allocation_id: string, generation: number) => sql(Made)`
  update allocation_access_grants g set generation = ${generation}::bigint from installation i
   where g.allocation_id = ${allocation_id} and g.ended_at is null and g.epoch = i.epoch
     and (g.expires_at is null or g.expires_at > transaction_timestamp())
  returning g.id`

/**
 * Of several that have just ended: gone with that generation or, where nothing was sent for it, with what the node was told last. One that
 * was in no set at all has none.
 */
export const setEndGenerations = (_proof: Ending, ids: readonly string[], generation: number | null) => sql(Made)`
  update allocation_access_grants g
     set generation = (
           select coalesce(${generation}::bigint, a.generation) from allocations a
            where a.id = g.allocation_id and exists (
              select from node_tasks t where t.allocation_id = a.id and t.type = 'allocation.install_authorized_keys'))
   where g.id = any (${ids}::uuid[])
  returning g.id`

const { id, allocation_id, grantee_user_id, ssh_key_id, key_type, fingerprint, expires_at } = AccessGrant.properties
/** What a record says of a grant: whose it is, and which key, by its fingerprint. */
const KnownGrant = Exactly({ id, allocation_id, grantee_user_id, ssh_key_id, key_type, fingerprint, expires_at })
export type KnownGrant = Static<typeof KnownGrant>
const EndedGrant = Exactly({ ...KnownGrant.properties, end_cause: OneOf(endCauses) })
export type EndedGrant = Static<typeof EndedGrant>
const endedColumns = sqlPart('g.id, g.allocation_id, g.grantee_user_id, g.ssh_key_id, k.key_type, k.fingerprint, g.expires_at, g.end_cause')

/** Those of a person, or with a key, or one of them; what is not said does not matter. */
export interface Picked {
  readonly grant_id?: string
  readonly user_id?: string
  readonly ssh_key_id?: string
}

export interface GrantsEnd {
  /** Null: the product itself. */
  readonly by: string | null
  readonly cause: EndCause
  readonly now: string
}

/** These causes end the account on the node, and that is how the end of the grant is confirmed, also of an expired one. */
const withAllocation: ReadonlySet<EndCause> = new Set(['allocation_released', 'allocation_failed', 'node_retired'])

/** A grant past its `expires_at` ended at that instant and by nobody, though it is noticed only now. */
export const endGrants = (
  _proof: Ending,
  allocation_ids: readonly string[],
  { grant_id = undefined, user_id = undefined, ssh_key_id = undefined }: Picked,
  { by, cause, now }: GrantsEnd,
) => sql(EndedGrant)`
  update allocation_access_grants g
     set ended_at = case when g.expires_at <= transaction_timestamp() then g.expires_at else ${now}::timestamptz end,
         ended_by = case when g.expires_at <= transaction_timestamp() then null else ${by}::uuid end,
         end_cause = case when g.expires_at <= transaction_timestamp() and not ${withAllocation.has(cause)}::boolean then 'expired'
                          else ${cause}::text end,
         updated_at = ${now}
    from ssh_public_keys k
   where g.allocation_id = any (${allocation_ids}::uuid[]) and g.ended_at is null and k.id = g.ssh_key_id
     and (${grant_id ?? null}::uuid is null or g.id = ${grant_id ?? null}::uuid)
     and (${user_id ?? null}::uuid is null or g.grantee_user_id = ${user_id ?? null}::uuid)
     and (${ssh_key_id ?? null}::uuid is null or g.ssh_key_id = ${ssh_key_id ?? null}::uuid)
  returning ${endedColumns}`

/** Those whose time is over, and those from before a backup was restored: some of them may have been revoked since it was made. */
export const endOverdueGrants = (_proof: Ending, allocation_id: string, now: string) => sql(EndedGrant)`
  update allocation_access_grants g
     set ended_at = case when g.expires_at <= transaction_timestamp() then g.expires_at else ${now}::timestamptz end,
         end_cause = case when g.epoch <> i.epoch then 'backup_restored' else 'expired' end, updated_at = ${now}
    from ssh_public_keys k, installation i
   where g.allocation_id = ${allocation_id} and g.ended_at is null and k.id = g.ssh_key_id
     and (g.epoch <> i.epoch or g.expires_at <= transaction_timestamp())
  returning ${endedColumns}`

const Holder = Exactly({
  fingerprint: KnownGrant.properties.fingerprint,
  grant_id: Nullable(KnownGrant.properties.id),
  ssh_key_id: KnownGrant.properties.ssh_key_id,
  user_id: Nullable(KnownGrant.properties.grantee_user_id),
})
export type Holder = Static<typeof Holder>

/** Through what these keys open an allocation, or will again when what withholds them is over: grants, and keys of its own. */
export const holdersOf = (allocation_id: string, fingerprints: readonly string[]) => sql(Holder)`
  select k.fingerprint, g.id as grant_id, k.id as ssh_key_id, k.user_id
    from allocation_access_grants g join ssh_public_keys k on k.id = g.ssh_key_id and k.deleted_at is null join installation i on i.epoch = g.epoch
   where g.allocation_id = ${allocation_id} and k.fingerprint = any (${fingerprints}::text[])
     and g.ended_at is null and (g.expires_at is null or g.expires_at > transaction_timestamp())
   union all
  select k.fingerprint, null, k.id, k.user_id
    from allocation_ssh_public_keys e join ssh_public_keys k on k.id = e.ssh_key_id and k.deleted_at is null join installation i on i.epoch = e.epoch
   where e.allocation_id = ${allocation_id} and k.fingerprint = any (${fingerprints}::text[]) and e.ended_at is null
   order by grant_id, ssh_key_id`

/** Where something is overdue. */
export const allocationsOverdue = (limit: number) => sql(Made)`
  select g.allocation_id as id from allocation_access_grants g
   where g.ended_at is null and g.expires_at <= transaction_timestamp()
   union
  select g.allocation_id from allocation_access_grants g cross join installation i
   where g.ended_at is null and g.epoch <> i.epoch
   order by id limit ${limit}`

interface Where {
  /** Null: everywhere. */
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** Where a person has access, by a grant or by a key among the allocation's own; with those that he owns, where that matters. */
export const allocationsOpenTo = (user_id: string, { tenant_id, project_id }: Where, are_owned_too = false) => sql(Made)`
  select a.id from allocations a
   where (a.id in (
            select g.allocation_id from allocation_access_grants g where g.grantee_user_id = ${user_id} and g.ended_at is null
             union
            select e.allocation_id from allocation_ssh_public_keys e join ssh_public_keys k on k.id = e.ssh_key_id
             where k.user_id = ${user_id} and e.ended_at is null)
          or (${are_owned_too} and a.owner_user_id = ${user_id}))
     and (${tenant_id}::uuid is null or a.org_id = ${tenant_id}::uuid)
     and (${project_id}::uuid is null or a.project_id = ${project_id}::uuid)
   order by a.id`

export const allocationsOpenWith = (ssh_key_id: string) => sql(Made)`
  select g.allocation_id as id from allocation_access_grants g where g.ssh_key_id = ${ssh_key_id} and g.ended_at is null
   union
  select e.allocation_id from allocation_ssh_public_keys e where e.ssh_key_id = ${ssh_key_id} and e.ended_at is null
   order by id`

/** One that is not over. */
export const anyAllocationOwnedBy = (project_id: string, user_id: string) => sql(Made)`
  select id from allocations
   where project_id = ${project_id} and owner_user_id = ${user_id} and state in ('requested', 'provisioning', 'active') limit 1`
