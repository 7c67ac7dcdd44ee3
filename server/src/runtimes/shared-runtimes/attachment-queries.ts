import { Attachment } from '@gatehouse/contract/runtime-attachments'
import { Exactly, Id } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Actor } from '#ground/work/work.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { Managing, RuntimeRow } from './shared-runtime.ts'

type Attaching = Authorized<'tenant.shared_runtime.manage' | 'shared_runtime.attach', object>
type Detaching = Authorized<'tenant.shared_runtime.manage' | 'shared_runtime.detach', object>
type By = Pick<Actor, 'type' | 'id'>

const { state: _, ...stored } = Attachment.properties
const told = sqlPart(`${Object.keys(stored).join(', ')}, case when detached_at is null then 'active' else 'detached' end as state`)

export const findAttachment = (shared_runtime_id: string, attachment_id: string) => sql(Attachment)`
  select ${told} from shared_runtime_attachments where id = ${attachment_id} and shared_runtime_id = ${shared_runtime_id}`

/** With `is_of_attached`, of projects alone that are attached now, whatever was before. */
export const attachmentsOf = (
  { id }: RuntimeRow,
  { is_detached, is_of_attached }: { is_detached: boolean; is_of_attached: boolean },
  after: string | null,
  limit: number,
) => sql(Attachment)`
  select ${told} from shared_runtime_attachments a
   where shared_runtime_id = ${id} and (detached_at is not null) = ${is_detached} and (${after}::uuid is null or id > ${after}::uuid)
     and (not ${is_of_attached} or exists (
       select 1 from shared_runtime_attachments b
        where b.shared_runtime_id = a.shared_runtime_id and b.project_id = a.project_id and b.detached_at is null))
   order by id limit ${limit}`

/** Those of the organization that could be attached, and whether the operator may do it by itself. */
export const eligibleProjects = (
  { id, org_id, delegated_actions, eligible_project_ids }: RuntimeRow,
  after: string | null,
  limit: number,
) => sql(Exactly({ project_id: Id('project'), name: Type.String(), slug: Type.String(), is_delegated: Type.Boolean() }))`
  select p.id as project_id, p.name, p.slug, ${delegated_actions.includes('attach')} and p.id = any(${eligible_project_ids}::uuid[]) as is_delegated
    from projects p
   where p.org_id = ${org_id} and p.state = 'active' and (${after}::uuid is null or p.id > ${after}::uuid)
     and not exists (
       select 1 from shared_runtime_attachments a where a.shared_runtime_id = ${id} and a.project_id = p.id and a.detached_at is null)
   order by p.id limit ${limit}`

export const insertAttachment = (
  _proof: Attaching,
  { id, project_id, contribution_policy }: Pick<Attachment, 'id' | 'project_id' | 'contribution_policy'>,
  runtime: RuntimeRow,
  by: By,
  now: string,
) => sql(Attachment)`
  insert into shared_runtime_attachments (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
  values (${id}, ${runtime.id}, ${runtime.org_id}, ${project_id}, ${contribution_policy}, ${now}, ${by.type}, ${by.id}, ${now})
  returning ${told}`

export const setContribution = (_proof: Managing, id: string, contribution_policy: Attachment['contribution_policy'], now: string) => sql(
  Attachment,
)`
  update shared_runtime_attachments set contribution_policy = ${contribution_policy}, updated_at = ${now}
   where id = ${id} and detached_at is null returning ${told}`

export const endAttachment = (_proof: Detaching, id: string, by: By, reason: string, now: string) => sql(Attachment)`
  update shared_runtime_attachments
     set detached_at = ${now}, detached_by_type = ${by.type}, detached_by = ${by.id}, detach_reason = ${reason}, updated_at = ${now}
   where id = ${id} and detached_at is null returning ${told}`

export const detachAll = (_proof: Managing, shared_runtime_id: string, by: string, reason: string, now: string) => sql(Attachment)`
  update shared_runtime_attachments
     set detached_at = ${now}, detached_by_type = 'user', detached_by = ${by}, detach_reason = ${reason}, updated_at = ${now}
   where shared_runtime_id = ${shared_runtime_id} and detached_at is null returning ${told}`
