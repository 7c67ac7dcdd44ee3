import { Organization } from '@gatehouse/contract/organizations'
import { columns, sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

export const findOrganization = (org_id: string) => sql(Organization)`
  select ${columns(Organization)} from organizations where id = ${org_id} and deleted_at is null`

/** Locked: whatever changes who belongs to an organization happens one after the other. */
export const lockOrganization = (org_id: string) => sql(Organization)`
  select ${columns(Organization)} from organizations where id = ${org_id} and deleted_at is null for no key update`

export const organizationsOf = (user_id: string, after: string | null, limit: number) => sql(Organization)`
  select ${columns(Organization, 'o')}
    from organizations o join tenant_memberships m on m.tenant_id = o.id and m.user_id = ${user_id} and m.deleted_at is null
   where o.deleted_at is null and (${after}::uuid is null or o.id > ${after}::uuid)
   order by o.id limit ${limit}`

export const allOrganizations = (after: string | null, limit: number) => sql(Organization)`
  select ${columns(Organization)} from organizations
   where deleted_at is null and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

export const insertOrganization = (
  _proof: Authorized<'platform.admin', object>,
  { id, type, name, slug }: Pick<Organization, 'id' | 'type' | 'name' | 'slug'>,
  created_by: string | null,
  now: string,
) => sql(Organization)`
  insert into organizations (id, type, name, slug, created_at, created_by)
  values (${id}, ${type}, ${name}, ${slug}, ${now}, ${created_by})
  returning ${columns(Organization)}`

export const renameOrganization = (organization: Authorized<'tenant.update', Organization>, name: string) => sql(Organization)`
  update organizations set name = ${name} where id = ${organization.id} returning ${columns(Organization)}`

export const setOrganizationState = (organization: Authorized<'platform.admin', Organization>, state: string) => sql(Organization)`
  update organizations set state = ${state} where id = ${organization.id} returning ${columns(Organization)}`
