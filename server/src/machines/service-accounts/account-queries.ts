import type { Project } from '@gatehouse/contract/projects'
import { ServiceAccount } from '@gatehouse/contract/service-accounts'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

/** The project, and the proof that something may be done to its service accounts. */
export type AccountsOf<A extends Action> = Authorized<A, Project>
type Managing = AccountsOf<'project.service_account.manage'>

/** A deleted one is nowhere to be seen. */
export const findAccount = (project_id: string, service_account_id: string) => sql(ServiceAccount)`
  select ${columns(ServiceAccount)} from service_accounts
   where id = ${service_account_id} and project_id = ${project_id} and state <> 'deleted'`

export const accountsIn = (project_id: string, after: string | null, limit: number) => sql(ServiceAccount)`
  select ${columns(ServiceAccount)} from service_accounts
   where project_id = ${project_id} and state <> 'deleted' and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

/** Those that are not deleted. The caller holds the lock of the project, so the count stays true. */
export const countAccounts = (project: Managing) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from service_accounts where project_id = ${project.id} and state <> 'deleted'`

export const insertAccount = (
  project: Managing,
  { id, name, slug }: Pick<ServiceAccount, 'id' | 'name' | 'slug'>,
  by: string,
  now: string,
) => sql(ServiceAccount)`
  insert into service_accounts (id, org_id, project_id, name, slug, created_at, created_by)
  values (${id}, ${project.org_id}, ${project.id}, ${name}, ${slug}, ${now}, ${by})
  returning ${columns(ServiceAccount)}`

export const isDisabledByPlatform = (service_account_id: string) => sql(Exactly({ is_disabled_by_platform: Type.Boolean() }))`
  select is_disabled_by_platform from service_accounts where id = ${service_account_id}`

interface Disabling {
  readonly by: string
  readonly by_platform: boolean
  readonly reason: string
  readonly now: string
}

/** One that is disabled already since then: the platform makes it its own. */
export const disableAccount = (project: Managing, service_account_id: string, { by, by_platform, reason, now }: Disabling) => sql(
  ServiceAccount,
)`
  update service_accounts
     set state = 'disabled', disabled_at = coalesce(disabled_at, ${now}), disabled_by = ${by}, disable_reason = ${reason},
         is_disabled_by_platform = ${by_platform}
   where id = ${service_account_id} and project_id = ${project.id} and state <> 'deleted'
  returning ${columns(ServiceAccount)}`

export const enableAccount = (project: Managing, service_account_id: string) => sql(ServiceAccount)`
  update service_accounts set state = 'active', disabled_at = null, disabled_by = null, disable_reason = null, is_disabled_by_platform = false
   where id = ${service_account_id} and project_id = ${project.id} and state = 'disabled'
  returning ${columns(ServiceAccount)}`

export const endAccount = (project: Managing, service_account_id: string, by: string, reason: string, now: string) => sql(
  Exactly({ id: Type.String() }),
)`
  update service_accounts set state = 'deleted', deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where id = ${service_account_id} and project_id = ${project.id} and state <> 'deleted'
  returning id`
