import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Actor } from '#ground/work/work.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { most_acting } from './act.ts'

/** What tokens are ended of: whether it is there, and where. */
const Subject = Exactly({ id: Type.String(), org_id: Nullable(Type.String()), project_id: Nullable(Type.String()) })
export type Subject = Static<typeof Subject>

/** The same, and of whose tokens it is; who manages them depends on that. */
const Managed = Exactly({ ...Subject.properties, shared_runtime_id: Nullable(Type.String()) })
export type ManagedSubject = Static<typeof Managed>

export const tokenById = (id: string) => sql(Managed)`
  select id, org_id, project_id, binding ->> 'shared_runtime_id' as shared_runtime_id from issued_tokens where id = ${id}`

/** A token, and whose it is. */
const Owned = Exactly({ ...Subject.properties, owner_id: Type.String() })

/** A token, if it is this actor's own, or was issued to him to act for another. */
export const ownToken = (id: string, { type, id: actor_id }: Pick<Actor, 'type' | 'id'>) => sql(Owned)`
  select id, org_id, project_id, actor_id as owner_id from issued_tokens
   where id = ${id} and actor_type = ${type} and (actor_id = ${actor_id} or act ->> 'sub' = ${actor_id}::text)`

/** A token, if it is the one that is shown or comes from it, through however many hands. */
export const tokenOfLine = (id: string, shown: string) => sql(Owned)`
  with recursive line as (
    select t.id, t.parent_id, 0 as n from issued_tokens t where t.id = ${id}
     union all
    select t.id, t.parent_id, line.n + 1 from line join issued_tokens t on t.id = line.parent_id where line.n <= ${most_acting}::int)
  select id, org_id, project_id, actor_id as owner_id from issued_tokens
   where id = ${id} and exists (select from line where line.id = ${shown}::uuid)`

export const credentialById = (id: string) => sql(Managed)`
  select k.id, s.org_id, s.project_id, null as shared_runtime_id
    from service_account_keys k join service_accounts s on s.id = k.service_account_id where k.id = ${id}
   union all
  select c.id, r.org_id, null, r.id
    from shared_runtime_operator_credentials c join shared_app_runtimes r on r.id = c.shared_runtime_id where c.id = ${id}`

export const serviceAccountById = (id: string) => sql(Managed)`
  select id, org_id, project_id, null as shared_runtime_id from service_accounts where id = ${id}`

/** Also of a deleted one: its tokens are of no use, and to say so once more does no harm. */
export const operatorById = (shared_runtime_id: string) => sql(Managed)`
  select id, org_id, null as project_id, id as shared_runtime_id from shared_app_runtimes where id = ${shared_runtime_id}`

type Managing = 'project.service_account.manage' | 'tenant.shared_runtime.manage' | 'platform.admin'
type Revocable = Authorized<Managing | 'auth.token.revoke_own', Pick<Subject, 'id'>>

/** The first to revoke it is who did, and when he did. */
export const revokeToken = (token: Revocable, revoked_by: string, reason: string, now: string) => sql(
  Exactly({ revoked_at: Type.String() }),
)`
  update issued_tokens
     set revoked_at = coalesce(revoked_at, ${now}), revoked_by = coalesce(revoked_by, ${revoked_by}),
         revoke_reason = coalesce(revoke_reason, ${reason})
   where id = ${token.id} returning revoked_at`

export interface CutOff {
  readonly id: string
  readonly subject_type: 'platform' | 'organization' | 'project' | 'actor' | 'credential'
  readonly subject_id: string | null
  readonly org_id: string | null
  readonly issued_before: string
  /** All that there is, and not all that is older than an instant somebody chose. */
  readonly is_of_all: boolean
  readonly created_by: string
  readonly reason: string
}

export const insertCutOff = (_by: Authorized<Managing, object>, cut: CutOff, now: string) => sql(Exactly({ id: Type.String() }))`
  insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, until_number, created_at, created_by, reason)
  select ${cut.id}, ${cut.subject_type}, ${cut.subject_id}, ${cut.org_id}, ${cut.issued_before},
         case when ${cut.is_of_all} then case when s.is_called then s.last_value else 0 end end, ${now}, ${cut.created_by}, ${cut.reason}
    from issued_tokens_number_seq s
  returning id`
