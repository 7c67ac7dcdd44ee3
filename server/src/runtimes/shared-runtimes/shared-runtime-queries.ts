import { Exactly, Id } from '@gatehouse/contract/shapes'
import type { SharedRuntime } from '@gatehouse/contract/shared-runtimes'
import Type from 'typebox'
import { columns, sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { type Managing, RuntimeRow } from './shared-runtime.ts'

type Reporting = Authorized<'shared_runtime.report', object>
type ChangingAttachments = Authorized<'tenant.shared_runtime.manage' | 'shared_runtime.attach' | 'shared_runtime.detach', object>

/** A deleted one is nowhere to be seen. */
export const findRuntime = (org_id: string, shared_runtime_id: string) => sql(RuntimeRow)`
  select ${columns(RuntimeRow)} from shared_app_runtimes where id = ${shared_runtime_id} and org_id = ${org_id} and state <> 'deleted'`

/** Whatever changes a runtime, its attachments or what it has reported happens one after the other. */
export const lockRuntime = (org_id: string, shared_runtime_id: string) => sql(RuntimeRow)`
  select ${columns(RuntimeRow)} from shared_app_runtimes
   where id = ${shared_runtime_id} and org_id = ${org_id} and state <> 'deleted' for no key update`

export const runtimesIn = (org_id: string, after: string | null, limit: number) => sql(RuntimeRow)`
  select ${columns(RuntimeRow)} from shared_app_runtimes
   where org_id = ${org_id} and state <> 'deleted' and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

/** Of these projects, those that are the organization's. */
export const projectsAmong = (org_id: string, project_ids: readonly string[]) => sql(Exactly({ id: Id('project') }))`
  select id from projects where org_id = ${org_id} and id = any(${project_ids}::uuid[])`

type Delegated = Pick<SharedRuntime, 'delegated_actions' | 'eligible_project_ids' | 'delegated_contribution_policy'>
type Said = Delegated & Pick<SharedRuntime, 'app_version' | 'display_name' | 'placement_intent'>
export type NewRuntime = Said & Pick<SharedRuntime, 'id' | 'app_slug' | 'runtime_backend'>

export const insertRuntime = (organization: Managing, made: NewRuntime, by: string, now: string) => sql(RuntimeRow)`
  insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, placement_intent, delegated_actions,
                                   eligible_project_ids, delegated_contribution_policy, created_at, created_by, updated_at)
  values (${made.id}, ${organization.id}, ${made.app_slug}, ${made.app_version}, ${made.display_name}, ${made.runtime_backend},
          ${JSON.stringify(made.placement_intent)}::jsonb, ${made.delegated_actions}::text[], ${made.eligible_project_ids}::uuid[],
          ${made.delegated_contribution_policy}, ${now}, ${by}, ${now})
  returning ${columns(RuntimeRow)}`

/** Only the version that was seen. */
export const rewriteRuntime = (organization: Managing, { id, version }: RuntimeRow, said: Said, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes
     set app_version = ${said.app_version}, display_name = ${said.display_name}, placement_intent = ${JSON.stringify(said.placement_intent)}::jsonb,
         delegated_actions = ${said.delegated_actions}::text[], eligible_project_ids = ${said.eligible_project_ids}::uuid[],
         delegated_contribution_policy = ${said.delegated_contribution_policy}, version = version + 1, updated_at = ${now}
   where id = ${id} and org_id = ${organization.id} and version = ${version}::integer
  returning ${columns(RuntimeRow)}`

export const restRuntime = (organization: Managing, id: string, by: string, reason: string, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes
     set state = 'disabled', cursor_version = cursor_version + 1,
         disabled_at = ${now}, disabled_by = ${by}, disable_reason = ${reason}, updated_at = ${now}
   where id = ${id} and org_id = ${organization.id} and state not in ('disabled', 'deleted')
  returning ${columns(RuntimeRow)}`

/** As its operator last said that it was. Its reports count from the beginning: whoever had said the highest number would have muted it for good. */
export const resumeRuntime = (organization: Managing, id: string, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes
     set state = coalesce(reported_state, 'requested'), reported_sequence = 0, members_sequence = 0,
         disabled_at = null, disabled_by = null, disable_reason = null, updated_at = ${now}
   where id = ${id} and org_id = ${organization.id} and state = 'disabled'
  returning ${columns(RuntimeRow)}`

export const endRuntime = (organization: Managing, id: string, by: string, reason: string, now: string) => sql(
  Exactly({ id: Id('shared runtime') }),
)`
  update shared_app_runtimes set state = 'deleted', deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}, updated_at = ${now}
   where id = ${id} and org_id = ${organization.id} and state <> 'deleted'
  returning id`

/** What its operator has begun to read does not go on. */
export const endCursors = (_proof: ChangingAttachments, id: string, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes set cursor_version = cursor_version + 1, updated_at = ${now} where id = ${id}
  returning ${columns(RuntimeRow)}`

/** Its operator cannot attach it by itself from then on; where it was on no list, nothing is written. */
export const takeOffList = (_proof: ChangingAttachments, id: string, project_id: string, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes
     set eligible_project_ids = array_remove(eligible_project_ids, ${project_id}::uuid), version = version + 1, updated_at = ${now}
   where id = ${id} and ${project_id}::uuid = any(eligible_project_ids)
  returning ${columns(RuntimeRow)}`

interface Status {
  readonly sequence: number
  readonly state: NonNullable<SharedRuntime['reported_state']>
  readonly message: string | null
}

/** Only what is later than what was said before, and only of a live one. */
export const writeStatus = (_proof: Reporting, id: string, { sequence, state, message }: Status, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes
     set state = ${state}, reported_state = ${state}, reported_message = ${message}, reported_sequence = ${sequence}::bigint, reported_at = ${now}
   where id = ${id} and reported_sequence < ${sequence}::bigint and state not in ('disabled', 'deleted')
  returning ${columns(RuntimeRow)}`

export const writeMembersSequence = (_proof: Reporting, id: string, sequence: number, now: string) => sql(RuntimeRow)`
  update shared_app_runtimes set members_sequence = ${sequence}::bigint, members_reported_at = ${now}
   where id = ${id} and members_sequence < ${sequence}::bigint and state not in ('disabled', 'deleted')
  returning ${columns(RuntimeRow)}`

/** Whose runtime an operator operates, where it has come without a token. */
export const tenantOfOperator = (shared_runtime_id: string) => sql(Exactly({ org_id: Type.String() }))`
  select org_id from shared_app_runtimes where id = ${shared_runtime_id}`
