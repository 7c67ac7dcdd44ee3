import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import { Me, User } from '@gatehouse/contract/users'
import Type, { type Static } from 'typebox'
import { columns, sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { projectRoleNames, tenantRoleNames } from '#rails/authz/bound-roles.ts'

const Found = Exactly({ id: Type.String() })
const Addressed = Exactly({
  id: Type.String(),
  email: Nullable(Type.String()),
  email_verified: Type.Boolean(),
  /** `iat` of the newest token that named an address, in seconds. */
  said_at: Nullable(Type.Number()),
})
export type Addressed = Static<typeof Addressed>
const addressed = sqlPart(`id, email, email_verified, date_part('epoch', address_said_at) as said_at`)

export const userBySubject = (issuer: string, subject: string) => sql(Addressed)`
  select ${addressed} from users where oidc_issuer = ${issuer} and oidc_subject = ${subject}`

export const lockAddressed = (user_id: string) => sql(Addressed)`
  select ${addressed} from users where id = ${user_id} for no key update`

/** What the provider vouches for now, and since when: who has lost an address must not be found under it. */
export const setAddress = (
  _proof: Authorized<'platform.admin', object>,
  { id, email, email_verified, said_at }: Addressed & { readonly said_at: number },
) => sql(Found)`
  update users set email = ${email}, email_verified = ${email_verified}, address_said_at = to_timestamp(${said_at}::float8)
   where id = ${id} returning id`

/**
 * A person who gives an address up had it by a newer word than others of the same provider who still name it: those lost it then and do not get it back
 * by this, nor by a token from before. Written like the index that serves it.
 */
export const loseAddress = (
  _proof: Authorized<'platform.admin', object>,
  { id, email, said_at }: Addressed & { readonly email: string; readonly said_at: number },
) => sql(Found)`
  update users set email_verified = false, address_said_at = to_timestamp(${said_at}::float8)
   where oidc_issuer = (select oidc_issuer from users where id = ${id})
     and lower(email collate "C") = lower(${email}::text collate "C") and email_verified
     and id <> ${id} and (address_said_at is null or address_said_at <= to_timestamp(${said_at}::float8))
  returning id`

/** No row: the same person signed in for the first time somewhere else at this very moment. */
export const insertUser = (
  _proof: Authorized<'platform.admin', object>,
  user: {
    id: string
    username: string
    email: string | null
    email_verified: boolean
    /** Null: no token has named the address. */
    said_at: number | null
    issuer: string
    subject: string
    is_seeded: boolean
  },
  now: string,
) => sql(User)`
  insert into users (id, username, email, email_verified, address_said_at, oidc_issuer, oidc_subject, is_seeded, created_at)
  values (${user.id}, ${user.username}, ${user.email}, ${user.email_verified}, to_timestamp(${user.said_at}::float8), ${user.issuer},
          ${user.subject}, ${user.is_seeded}, ${now})
  on conflict (oidc_issuer, oidc_subject) do nothing
  returning ${columns(User)}`

export const findUser = (user_id: string) => sql(User)`
  select ${columns(User)} from users where id = ${user_id}`

export const lockUser = (user_id: string) => sql(User)`
  select ${columns(User)} from users where id = ${user_id} for no key update`

export const allUsers = (after: string | null, limit: number) => sql(User)`
  select ${columns(User)} from users where ${after}::uuid is null or id > ${after}::uuid order by id limit ${limit}`

export const setDisabled = (user: Authorized<'platform.admin', User>, by: string, reason: string, now: string) => sql(User)`
  update users set disabled_at = ${now}, disabled_by = ${by}, disable_reason = ${reason} where id = ${user.id} returning ${columns(User)}`

export const setEnabled = (user: Authorized<'platform.admin', User>) => sql(User)`
  update users set disabled_at = null, disabled_by = null, disable_reason = null where id = ${user.id} returning ${columns(User)}`

/** For readers that do not know bindings yet. */
export const setUsersRole = (_platform: Authorized<'platform.admin', object>, user_id: string, role: 'admin' | 'user') => sql(Found)`
  update users set role = ${role} where id = ${user_id} returning id`

/** The development provider may answer at another address than last time; its people stay the same people. */
export const moveSeededUsers = (_proof: Authorized<'platform.admin', object>, issuer: string) => sql(Found)`
  update users set oidc_issuer = ${issuer} where is_seeded returning id`

export const anySeededUser = () => sql(Found)`
  select id from users where is_seeded limit 1`

/** Who somebody is and where he belongs, with the roles that are bound there. */
export const me = (user_id: string) => sql(Me)`
  select u.id, u.username, u.email,
    array(select d.name from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id
           where b.principal_type = 'user' and b.principal_id = u.id and b.deleted_at is null order by d.name) as platform_roles,
    coalesce((
      select jsonb_agg(jsonb_build_object(
               'id', o.id, 'name', o.name, 'slug', o.slug,
               'roles', ${tenantRoleNames('o.id', 'u.id')},
               'projects', coalesce((
                 select jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'slug', p.slug, 'roles', ${projectRoleNames('p.id', 'u.id')}) order by p.id)
                   from projects p join project_memberships pm on pm.project_id = p.id and pm.user_id = u.id and pm.deleted_at is null
                  where p.org_id = o.id), '[]')) order by o.id)
        from organizations o join tenant_memberships m on m.tenant_id = o.id and m.user_id = u.id and m.deleted_at is null
       where o.deleted_at is null), '[]') as organizations
   from users u
  where u.id = ${user_id}`
