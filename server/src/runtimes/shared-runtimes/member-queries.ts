import { Exactly } from '@gatehouse/contract/shapes'
import { RuntimeMember } from '@gatehouse/contract/shared-runtimes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

/** As they were reported: who may be told their allocations is another question. */
export const membersOf = (shared_runtime_id: string) => sql(RuntimeMember)`
  select name, role, state, allocation_id from shared_runtime_members where shared_runtime_id = ${shared_runtime_id} order by name`

const Named = Exactly({ name: Type.String() })

export const forgetMembers = (
  _proof: Authorized<'tenant.shared_runtime.manage' | 'shared_runtime.report', object>,
  shared_runtime_id: string,
) => sql(Named)`
  delete from shared_runtime_members where shared_runtime_id = ${shared_runtime_id} returning name`

export const insertMembers = (
  _proof: Authorized<'shared_runtime.report', object>,
  shared_runtime_id: string,
  members: readonly RuntimeMember[],
  now: string,
) => sql(Named)`
  insert into shared_runtime_members (shared_runtime_id, name, role, state, allocation_id, reported_at)
  select ${shared_runtime_id}::uuid, name, role, state, allocation_id, ${now}::timestamptz
    from unnest(${members.map(({ name }) => name)}::text[], ${members.map(({ role }) => role)}::text[], ${members.map(({ state }) => state)}::text[],
                ${members.map(({ allocation_id }) => allocation_id)}::uuid[]) as m (name, role, state, allocation_id)
  returning name`
