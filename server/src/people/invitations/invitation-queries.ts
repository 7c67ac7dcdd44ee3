import { Invitation } from '@gatehouse/contract/invitations'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { RoleScope } from '../roles/role-scope.ts'
import type { Inviting } from './inviting.ts'

const Made = Exactly({ id: Type.String() })

/**
 * The address of a person as invitations spell it, if his provider vouches for it. By the rules of "C" only ASCII has capitals; then it is
 * compared like the column that it is compared with, so that the index of that column serves.
 */
const verifiedAddress = `case when u.email_verified then lower(u.email collate "C") collate "default" end`

/**
 * An issuer gives an address to one person, and its newest token says to whom: the former holder may show their old token for as long as it is
 * valid, and no newer one. Two tokens of one second have no order, so neither counts.
 */
const isNewestHolder = `not exists (
  select from users n
   where n.oidc_issuer = u.oidc_issuer and lower(n.email collate "C") = lower(u.email collate "C") and n.email_verified
     and n.id <> u.id and n.address_said_at >= coalesce(u.address_said_at, '-infinity'))`
const heldAddress = sqlPart(`select ${verifiedAddress} from users u where ${isNewestHolder} and u.id =`)

const invitation = sqlPart(`
  select i.id, i.tenant_id as org_id, o.name as org_name, i.project_id, p.name as project_name, i.email, d.id as role_id,
         d.name as role_name, v.version, i.inviter_user_id, i.created_at, i.ends_at,
         case when i.accepted_at is not null then 'accepted' when i.ended_at is not null then 'ended'
              when i.ends_at <= transaction_timestamp() then 'expired' else 'pending' end as state
    from invitations i
    join organizations o on o.id = i.tenant_id and o.deleted_at is null
    left join projects p on p.id = i.project_id
    join role_definition_versions v on v.id = i.role_version_id
    join role_definitions d on d.id = v.role_definition_id`)
const waits = sqlPart(`i.accepted_at is null and i.ended_at is null and i.ends_at > transaction_timestamp()`)
const isOpen = sqlPart(`accepted_at is null and ended_at is null`)

export const invitationsIn = ({ org_id, project_id }: RoleScope, after: string | null, limit: number) => sql(Invitation)`
  ${invitation}
   where i.tenant_id = ${org_id} and i.project_id is not distinct from ${project_id}::uuid and ${waits}
     and (${after}::uuid is null or i.id > ${after}::uuid)
   order by i.id limit ${limit}`

export const findInvitation = ({ org_id, project_id }: RoleScope, invitation_id: string) => sql(Invitation)`
  ${invitation}
   where i.id = ${invitation_id} and i.tenant_id = ${org_id} and i.project_id is not distinct from ${project_id}::uuid`

export const invitationsTo = (user_id: string, after: string | null, limit: number) => sql(Invitation)`
  ${invitation}
   where i.email = (${heldAddress} ${user_id}) and ${waits}
     and (${after}::uuid is null or i.id > ${after}::uuid)
   order by i.id limit ${limit}`

/** One that is addressed to this person; to everybody else it does not exist. */
export const invitationTo = (user_id: string, invitation_id: string) => sql(Invitation)`
  ${invitation}
   where i.id = ${invitation_id} and i.email = (${heldAddress} ${user_id})`

/** Also of who may hold it no longer: it serves to refuse. */
export const addressOf = (user_id: string) => sql(Exactly({ email: Type.String() }))`
  select ${sqlPart(verifiedAddress)} as email from users u where u.id = ${user_id} and u.email_verified and u.email is not null`

/** Members of the organization who hold this address now; several, if several providers vouch for it. */
export const membersAt = (org_id: string, email: string) => sql(Exactly({ user_id: Type.String() }))`
  select m.user_id from tenant_memberships m join users u on u.id = m.user_id
   where m.tenant_id = ${org_id} and m.deleted_at is null and ${sqlPart(verifiedAddress)} = ${email}
     and ${sqlPart(isNewestHolder)}`

interface NewInvitation {
  readonly id: string
  readonly email: string
  readonly role_version_id: string
  readonly ttl_seconds: number
}

export const insertInvitation = (
  _inviting: Inviting,
  { org_id, project_id }: RoleScope,
  { id, email, role_version_id, ttl_seconds }: NewInvitation,
  inviter_user_id: string,
  now: string,
) => sql(Made)`
  insert into invitations (id, tenant_id, project_id, email, role_version_id, inviter_user_id, created_at, ends_at)
  values (${id}, ${org_id}, ${project_id}, ${email}, ${role_version_id}, ${inviter_user_id}, ${now},
          ${now}::timestamptz + make_interval(secs => ${ttl_seconds}::int))
  returning id`

/** What has come to its end makes room for a new one. */
export const endExpired = (_inviting: Inviting, { org_id, project_id }: RoleScope, email: string, now: string) => sql(Made)`
  update invitations set ended_at = ${now}, end_reason = 'expired'
   where tenant_id = ${org_id} and project_id is not distinct from ${project_id}::uuid and email = ${email} and ${isOpen}
     and ends_at <= transaction_timestamp()
  returning id`

export type Accepting = Authorized<'me.invitation.accept', Invitation>

/** Nothing, if somebody was faster. `by` is null where a rule ended it and no person. */
export const endInvitation = (_by: Inviting | Accepting, invitation_id: string, by: string | null, reason: string, now: string) => sql(
  Made,
)`
  update invitations set ended_at = ${now}, ended_by = ${by}, end_reason = ${reason}
   where id = ${invitation_id} and ${isOpen}
  returning id`

export const setAccepted = (accepting: Accepting, by: string, now: string) => sql(Made)`
  update invitations set accepted_at = ${now}, accepted_by = ${by}
   where id = ${accepting.id} and ${isOpen}
  returning id`

/** Those that somebody made in the scope he leaves, and those to himself. Who leaves an organization leaves its projects. */
export const endInvitationsOf = (
  _ending: Authorized<'tenant.user.remove', object>,
  { tenant_id, project_id, user_id }: { readonly tenant_id: string; readonly project_id: string | null; readonly user_id: string },
  by: string,
  reason: string,
  now: string,
) => sql(Made)`
  update invitations set ended_at = ${now}, ended_by = ${by}, end_reason = ${reason}
   where tenant_id = ${tenant_id} and (${project_id}::uuid is null or project_id = ${project_id}::uuid) and ${isOpen}
     and (inviter_user_id = ${user_id} or email = (${heldAddress} ${user_id}))
  returning id`

/** Those that offer this role, in whichever version. */
export const endInvitationsAs = (_ending: Authorized<'tenant.role.define', object>, role_id: string, by: string, now: string) => sql(Made)`
  update invitations i set ended_at = ${now}, ended_by = ${by}, end_reason = 'role_deleted'
    from role_definition_versions v
   where v.id = i.role_version_id and v.role_definition_id = ${role_id} and i.accepted_at is null and i.ended_at is null
  returning i.id`
