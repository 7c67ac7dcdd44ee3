import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { FoundToken, tokenColumns, tokenJoins } from './live-token-queries.ts'

const ListedToken = Exactly({
  ...FoundToken.properties,
  revoke_reason: Nullable(Type.String()),
  installation_epoch: Type.Integer(),
  is_key_live: Type.Boolean(),
})
export type ListedToken = Static<typeof ListedToken>

const listed = sqlPart(`
    t.revoke_reason, i.epoch as installation_epoch,
    sk.state = 'active' or (sk.state = 'grace' and sk.grace_until > transaction_timestamp()) as is_key_live`)
const beside = sqlPart('join signing_keys sk on sk.kid = t.kid cross join installation i')

/** The newest first: ids sort by the time they were minted. */
export const tokensOfProject = (
  project: Authorized<'project.service_account.manage' | 'platform.admin', { readonly id: string }>,
  after: string | null,
  limit: number,
) => sql(ListedToken)`
  select ${tokenColumns}, ${listed} from issued_tokens t ${tokenJoins} ${beside}
   where t.project_id = ${project.id} and (${after}::uuid is null or t.id < ${after}::uuid)
   order by t.id desc limit ${limit}`

export const tokensOfRuntime = (
  organization: Authorized<'tenant.shared_runtime.manage' | 'platform.admin', { readonly id: string }>,
  shared_runtime_id: string,
  after: string | null,
  limit: number,
) => sql(ListedToken)`
  select ${tokenColumns}, ${listed} from issued_tokens t ${tokenJoins} ${beside}
   where t.actor_type = 'shared_runtime_operator' and t.actor_id = ${shared_runtime_id} and t.org_id = ${organization.id}
     and (${after}::uuid is null or t.id < ${after}::uuid)
   order by t.id desc limit ${limit}`
